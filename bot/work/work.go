package work

import (
	"context"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/guarded"
	"github.com/agentmux/agentmux/bot/material"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/spares"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Options are what the work of a session takes from its surroundings.
type Options struct {
	StateHome  string // workspaces, unless the configuration names another place
	ServerName string // of the configured GitHub server
	Now        func() time.Time
	Log        *slog.Logger
	Redactor   *redact.Redactor

	GitHub   *ghsync.Client        // nil = GitHub is not used
	Pulls    ghsync.PullWrites     // of pull requests; nil = GitHub's
	Token    transport.TokenSource // nil = no push
	ReadOnly bool                  // the token may not write: nothing is pushed

	// Guard is asked before each write to the server; its error is returned and nothing is
	// written. Nil = none.
	Guard func(context.Context) error
	// Away has checkpoints pushed. Nil, or without Guard = they stay in the store.
	Away *checkpoint.Away
	// MayPush is asked before a round is pushed, whether who asked for the work may have it done;
	// refused says why not, and nothing is pushed. Nil = yes.
	MayPush func(context.Context) (refused string, err error)
}

// Spec says whose work it is. Project may be nil for what touches no repository, and
// Workflow for what makes no file of the session.
type Spec struct {
	Session  *session.Session
	State    *orchestrator.State
	Workflow *workflows.Definition
	Config   *config.Config
	Project  *project.Project
	Issue    string // see material.Spec
}

// workspaces are the directories in which the agents of a session work, and what is taken
// from them.
type workspaces struct {
	Options
	*material.Files
	sess    *session.Session
	place   place.Place
	cfg     *config.Config
	project *project.Project
	repo    *gitrepo.Store // of project
	spares  *spares.Spares // while a run lasts
	team    *agents.Team   // of an agents file, else nil
}

// Work is the work of one session in git.
type Work struct {
	*workspaces
}

// New touches nothing.
func New(o Options, spec Spec) *Work {
	if o.Pulls == nil && o.GitHub != nil {
		o.Pulls = ghsync.PullWritesOf(o.GitHub)
	}
	if o.Guard != nil && o.Pulls != nil {
		o.Pulls = guarded.Pulls{Writes: o.Pulls, Guard: o.Guard}
	}
	at := place.Of(spec.Session.Dir, spec.State)
	w := &Work{workspaces: &workspaces{
		Options: o, Files: material.New(material.Spec{Session: spec.Session, Place: at, Workflow: spec.Workflow, Issue: spec.Issue, Now: o.Now, Log: o.Log}),
		sess: spec.Session, place: at, cfg: spec.Config,
	}}
	if spec.Workflow != nil {
		w.team = spec.Workflow.Team
	}
	if spec.Project != nil {
		w.Use(spec.Project)
	}
	return w
}

// Use has the work go to the repositories of a project.
func (r *Work) Use(p *project.Project) {
	r.project, r.repo = p, p.Store
	r.UseStore(p.Store)
}

func (r *workspaces) register() register.Register { return register.Open(r.StateHome) }

// committing makes the commit of a change round.
type committing struct{ *Work }

// proposal is the pull request of the session's branch.
type proposal struct{ *Work }

package host

import (
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
)

// workOptions are what the work of a session takes from its surroundings.
type workOptions struct {
	StateHome  string // workspaces, unless the configuration names another place
	ServerName string // of the configured GitHub server
	Now        func() time.Time
	Log        *slog.Logger
	Redactor   *redact.Redactor

	GitHub   *ghsync.Client        // nil = GitHub is not used
	Token    transport.TokenSource // nil = no push
	ReadOnly bool                  // the token may not write: nothing is pushed
}

// workSpec says whose work it is. Project may be nil for what touches no repository, and
// Workflow for what makes no file of the session.
type workSpec struct {
	Session  *session.Session
	State    *orchestrator.State
	Workflow *workflows.Definition
	Config   *config.Config
	Project  *project.Project
}

// files are those of a session's directory that are made from others, and those that tell
// what the session is about.
type files struct {
	workOptions
	sess  *session.Session
	place place.Place
	def   *workflows.Definition
	repo  *gitrepo.Host // of project
}

// workspaces are the directories in which the agents of a session work, and what is taken
// from them.
type workspaces struct {
	*files
	cfg     *config.Config
	project *project.Project
}

// work is the work of one session in git.
type work struct {
	*workspaces
}

// newWork touches nothing.
func newWork(o workOptions, spec workSpec) *work {
	f := &files{workOptions: o, sess: spec.Session, place: place.Of(spec.Session.Dir, spec.State), def: spec.Workflow}
	w := &work{workspaces: &workspaces{files: f, cfg: spec.Config}}
	if spec.Project != nil {
		w.use(spec.Project)
	}
	return w
}

// use has the work go to the repositories of a project.
func (r *work) use(p *project.Project) { r.project, r.repo = p, p.Store }

func (r *files) register() session.Register { return session.OpenRegister(r.StateHome) }

// committing makes the commit of a change round.
type committing struct{ *work }

// proposal is the pull request of the session's branch.
type proposal struct{ *work }

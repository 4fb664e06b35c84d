package crew

import (
	"context"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew/heard"
	"github.com/agentmux/agentmux/bot/crew/keys"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows"
)

// Options are the surroundings of a crew.
type Options struct {
	Self       string // absolute path of this program; its hidden commands run in panes
	StateHome  string // homes and logins of agents
	RuntimeDir string // sockets
	Home       string // of the person
	Tmux       string // tmux itself; empty = the one in PATH

	Environ  func(name string) (string, bool)
	Now      func() time.Time
	Log      *slog.Logger
	Redactor *redact.Redactor
	Helps    *agent.Helps // of programs; nil = they are not asked for it
	// Reach is that of [grant.Grants].
	Reach func(ctx context.Context, token string) (repository string, err error)
}

// Sources are the texts of the session that prompts are made from.
type Sources interface {
	// Mend restores those that were deleted.
	Mend(ctx context.Context, s *orchestrator.State) error
	ReadText(rel string) ([]byte, error)
	// DiffStat lists what changed between two commits or trees; strays are marked.
	DiffStat(ctx context.Context, from, to string, strays story.Strays) (string, error)
	Strays() (story.Strays, error)
	// IssueTask is the text of the issue of an agent, kept as blob.
	IssueTask(blob string) (string, error)
}

// Spec says which session's agents a crew runs.
type Spec struct {
	Session   *session.Session
	State     *orchestrator.State
	Now       func() *orchestrator.State // the state as it was committed last; nil = State
	Workflow  *workflows.Definition
	Config    *config.Config
	Project   *project.Project
	Providers agent.Providers
	Sources   Sources
}

// Crew runs the agents of one session in their panes.
type Crew struct {
	sandbox
	sess      *session.Session
	place     place.Place
	def       *workflows.Definition
	project   *project.Project
	providers agent.Providers
	sources   Sources
	prompts   fs.FS    // the project's own, or nil
	begun     []string // workspaces with unfinished work of an agent of another machine

	panes     *panes
	recorders *transcript.Recorders // while a run lasts
	seals     seals
	signals   heard.Signals
	dialogs   keys.Dialogs
	onExit    func(pid int) bool
	noted     sync.Map                   // launch -> when it was refused, as other hosts were told
	state     func() *orchestrator.State // as it was committed last
}

// New returns a crew and starts nothing.
func New(o Options, spec Spec) *Crew {
	if spec.Now == nil {
		spec.Now = func() *orchestrator.State { return spec.State }
	}
	return &Crew{
		sandbox: sandbox{Options: o, cfg: spec.Config}, sess: spec.Session, place: place.Of(spec.Session.Dir, spec.State), def: spec.Workflow,
		project: spec.Project, providers: spec.Providers, sources: spec.Sources,
		state: spec.Now,
	}
}

// UsePrompts sets the project's own templates of prompts; nil for none.
func (r *Crew) UsePrompts(files fs.FS) { r.prompts = files }

// UseEarlierWork names the workspaces with unfinished work of an agent of another machine.
func (r *Crew) UseEarlierWork(workspaces []string) { r.begun = workspaces }

// StartRecorders writes the transcripts of the panes until stop is called.
func (r *Crew) StartRecorders() (stop func()) {
	r.recorders = openRecorders(r)
	return func() { _ = r.recorders.Close() }
}

// FinishTranscripts waits for the last output of launches whose panes have ended.
func (r *Crew) FinishTranscripts(ctx context.Context) { r.recorders.Finish(ctx) }

// OnExit sets how the end of a process wakes the engine, as orchestrator/watch does. follow
// reports false if it cannot; then the agents are observed every two seconds.
func (r *Crew) OnExit(follow func(pid int) bool) { r.onExit = follow }

// observer makes one report of the launches.
type observer struct {
	*Crew
	next    time.Duration        // until the next report; 0 = none is needed
	pressed map[string]time.Time // see [keys.Pressed]
}

// briefing renders the prompt of a launch.
type briefing struct{ *Crew }

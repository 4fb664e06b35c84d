package host

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/workflows"
)

// crewOptions are what a crew takes from its surroundings.
type crewOptions struct {
	Self       string // absolute path of this program; its hidden commands run in panes
	StateHome  string // homes and logins of agents
	RuntimeDir string // sockets
	Home       string // of the person
	Tmux       string // tmux itself; empty = the one in PATH

	Environ  func(name string) (string, bool)
	Now      func() time.Time
	Log      *slog.Logger
	Redactor *redact.Redactor
	Pause    time.Duration // between an agent's submission and TERM
}

// sources are the texts of the session that prompts are made from.
type sources interface {
	// Mend writes again what somebody deleted of them.
	Mend(ctx context.Context, s *orchestrator.State) error
	ReadText(rel string) ([]byte, error)
	// DiffStat lists what changed between two commits or trees; strays are marked.
	DiffStat(ctx context.Context, from, to string, strays story.Strays) (string, error)
	Strays() (story.Strays, error)
}

// crewSpec says whose agents a crew is.
type crewSpec struct {
	Session   *session.Session
	State     *orchestrator.State
	Workflow  *workflows.Definition
	Config    *config.Config
	Project   *project.Project
	Providers agent.Providers
	Sources   sources
}

// crew is the agents of one session in their panes.
type crew struct {
	sandbox
	sess      *session.Session
	place     place.Place
	def       *workflows.Definition
	project   *project.Project
	providers agent.Providers
	sources   sources
	prompts   fs.FS // the project's own, or nil

	panes     *panes
	recorders *recorders // while a run lasts
	seals     seals
	signals   *signals
	dialogs   dialogs
}

// newCrew gathers a crew and starts nothing.
func newCrew(o crewOptions, spec crewSpec) *crew {
	return &crew{
		sandbox: sandbox{crewOptions: o, cfg: spec.Config}, sess: spec.Session, place: place.Of(spec.Session.Dir, spec.State), def: spec.Workflow,
		project: spec.Project, providers: spec.Providers, sources: spec.Sources, signals: &signals{launches: map[string]followed{}},
	}
}

// observer looks at launches.
type observer struct{ *crew }

// briefing makes the prompt of a launch.
type briefing struct{ *crew }

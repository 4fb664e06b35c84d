package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Options are everything a Host takes from its surroundings.
type Options struct {
	Self       string // absolute path of this program; its hidden commands run in panes
	StateHome  string // host repositories, workspaces, logins
	RuntimeDir string // sockets and short-lived files, on this machine only
	Home       string // of the person
	Tmux       string // tmux itself; empty = the one in PATH

	// Environ looks a variable up in the host's own environment; nil = os.LookupEnv.
	Environ func(name string) (string, bool)
	Now     func() time.Time // nil = time.Now
	Log     *slog.Logger     // nil = none

	Server string                // address of the GitHub server; empty = the configured host's
	GitHub *ghsync.Client        // nil = GitHub is not used
	Token  transport.TokenSource // of GitHub, for git; nil = no push
	// ReadOnly says that the token may not write: nothing is pushed and no pull request
	// is opened.
	ReadOnly bool
	// Redactor knows every secret this process holds; nil = patterns only.
	Redactor *redact.Redactor
	Pause    time.Duration // between an agent's submission and TERM; 0 = three seconds
}

// Host carries out the effects of sessions.
type Host struct {
	Options

	located *project.Located // asked before, for a moment
}

// New checks the options and touches nothing.
func New(o Options) (*Host, error) {
	for name, path := range map[string]string{
		"own path": o.Self, "state home": o.StateHome, "runtime directory": o.RuntimeDir, "home": o.Home,
	} {
		if !filepath.IsAbs(path) {
			return nil, errors.New("host: " + name + " is no absolute path: " + path)
		}
	}
	if o.Environ == nil {
		o.Environ = os.LookupEnv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redactor == nil {
		o.Redactor = redact.New()
	}
	if o.Pause == 0 {
		o.Pause = submissionPause
	}
	return &Host{Options: o, located: &project.Located{}}, nil
}

// submissionPause is how long an agent that has submitted may go on by itself.
const submissionPause = 3 * time.Second

// projects opens projects as this host reaches them.
func (h *Host) projects() project.Opener {
	return project.Opener{Self: h.Self, StateHome: h.StateHome, Server: h.Server, GitHub: h.GitHub, Token: h.Token, Log: h.Log, Located: h.located}
}

// Project inspects the clone that holds dir and opens its host repository. Nothing in
// the clone changes. The error is gitrepo.ErrNotClone outside of one.
func (h *Host) Project(ctx context.Context, dir string, c *config.Config) (*project.Project, error) {
	return h.projects().Open(ctx, dir, c)
}

// Managed is the project of a repository without anybody's clone, as a bot serves it. Its
// sessions lie below the state home.
func (h *Host) Managed(ctx context.Context, repo ghsync.Repo, c *config.Config) (*project.Project, error) {
	return h.projects().Managed(ctx, repo, c)
}

// projectOf is the project of a session that was made before.
func (h *Host) projectOf(ctx context.Context, s *session.Session, c *config.Config) (*project.Project, error) {
	return h.projects().Reopen(ctx, s.Project(), c)
}

func (h *Host) crewOptions() crew.Options {
	return crew.Options{
		Self: h.Self, StateHome: h.StateHome, RuntimeDir: h.RuntimeDir, Home: h.Home, Tmux: h.Tmux,
		Environ: h.Environ, Now: h.Now, Log: h.Log, Redactor: h.Redactor, Pause: h.Pause,
	}
}

func (h *Host) workOptions(c *config.Config) work.Options {
	return work.Options{
		StateHome: h.StateHome, ServerName: h.projects().ServerName(c), Now: h.Now, Log: h.Log, Redactor: h.Redactor,
		GitHub: h.GitHub, Token: h.Token, ReadOnly: h.ReadOnly,
	}
}

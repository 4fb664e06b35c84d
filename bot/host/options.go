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
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/watch"
)

// Options are everything a Host gets from its process.
type Options struct {
	Self       string        // absolute path of this program; its hidden commands run in panes
	StateHome  string        // stores, workspaces, logins
	ParkAfter  time.Duration // a session waits so long for a person, with no agent at work, until it is parked; 0: as long as it may
	Borrowed   bool          // its machine is for others when it ends, as that of a job is: on a full disk it lets go of its session
	Stores     string        // stores of repositories, where other hosts at work share them; empty = in StateHome
	RuntimeDir string        // sockets and short-lived files, on this machine only
	Home       string        // of the person
	Tmux       string        // tmux itself; empty = the one in PATH

	// Environ looks a variable up in the host's own environment; nil = os.LookupEnv.
	Environ func(name string) (string, bool)
	Now     func() time.Time // nil = time.Now
	Log     *slog.Logger     // nil = none

	Server string                // address of the GitHub server; empty = the configured host's
	GitHub *ghsync.Client        // nil = GitHub is not used
	Token  transport.TokenSource // of GitHub, for git; nil = no push
	// Away returns why GitHub refuses the account now, nil where it does not. What is owed to
	// GitHub waits then however long that takes. Nil: it waits for limits.remote as for all else.
	Away func() error
	// Locate says what a repository is called now, for git; nil = as it was called first.
	Locate project.Locate
	// ReadOnly says that the token may not write: nothing is pushed and no pull request
	// is opened.
	ReadOnly bool
	// Redactor knows every secret this process holds; nil = patterns only.
	Redactor *redact.Redactor

	// Reach names a private repository that a token for agents can read; nil = GitHub is not asked.
	Reach func(ctx context.Context, token string) (repository string, err error)
	// Watcher watches the directories of sessions; nil = one of its own. Hosts of one process share it.
	Watcher *watch.Watcher
	// Located are the clones found before, for a moment; nil = none. Hosts made one after another may share it.
	Located *project.Located
}

// Host carries out the effects of sessions.
type Host struct {
	Options
	helps *agent.Helps
}

// New checks the options and touches nothing.
func New(o Options) (*Host, error) {
	for name, path := range map[string]string{
		"own path": o.Self, "state home": o.StateHome, "runtime directory": o.RuntimeDir, "home": o.Home,
	} {
		if !filepath.IsAbs(path) {
			return nil, errors.New("host: " + name + " is not an absolute path: " + path)
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
	if o.Located == nil {
		o.Located = &project.Located{}
	}
	if o.Watcher == nil {
		o.Watcher = watch.New(watch.Options{Log: o.Log})
	}
	return &Host{Options: o, helps: &agent.Helps{}}, nil
}

// WithLog is h with another log.
func (h *Host) WithLog(log *slog.Logger) *Host {
	o := h.Options
	o.Log = log
	return &Host{Options: o, helps: h.helps}
}

// Projects returns the opener of this host's projects.
func (h *Host) Projects() project.Opener {
	return project.Opener{Self: h.Self, StateHome: h.StateHome, Stores: h.Stores, Server: h.Server, GitHub: h.GitHub, Token: h.Token, Log: h.Log, Located: h.Located, Locate: h.Locate}
}

// Project inspects the clone that holds dir and opens its store. Nothing in
// the clone changes. The error is clone.ErrNotClone outside of one. See [project.Opener.Open] for own.
func (h *Host) Project(ctx context.Context, dir string, c *config.Config, own ...string) (*project.Project, error) {
	return h.Projects().Open(ctx, dir, c, own...)
}

// Reopen is Project for a clone that was inspected before: git is not asked again for what was
// found a moment ago.
func (h *Host) Reopen(ctx context.Context, dir string, c *config.Config) (*project.Project, error) {
	return h.Projects().Reopen(ctx, dir, c)
}

// Connect has a project that another host of this process opened reach the server as this one.
func (h *Host) Connect(p *project.Project) { h.Projects().Connect(p) }

// Repository returns a repository of the server as this host reaches it by git.
func (h *Host) Repository(ctx context.Context, repo ghsync.Repo) (remote.Repository, error) {
	return h.Projects().Repository(ctx, repo)
}

// projectOf returns the project of an existing session.
func (h *Host) projectOf(ctx context.Context, s *session.Session, c *config.Config) (*project.Project, error) {
	return h.Reopen(ctx, s.Project(), c)
}

func (h *Host) crewOptions() crew.Options {
	return crew.Options{
		Self: h.Self, StateHome: h.StateHome, RuntimeDir: h.RuntimeDir, Home: h.Home, Tmux: h.Tmux,
		Environ: h.Environ, Now: h.Now, Log: h.Log, Redactor: h.Redactor, Helps: h.helps, Reach: h.Reach,
	}
}

func (h *Host) workOptions(c *config.Config) work.Options {
	return work.Options{
		StateHome: h.StateHome, ServerName: h.Projects().ServerName(c), Now: h.Now, Log: h.Log, Redactor: h.Redactor,
		GitHub: h.GitHub, Token: h.Token, ReadOnly: h.ReadOnly,
	}
}

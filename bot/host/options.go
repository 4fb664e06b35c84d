package host

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
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

	located *located
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
	return &Host{Options: o, located: &located{}}, nil
}

// logins is where logins made for this program are kept, one directory per provider.
func (h *Host) logins() string { return filepath.Join(h.StateHome, "logins") }

// submissionPause is how long an agent that has submitted may go on by itself.
const submissionPause = 3 * time.Second

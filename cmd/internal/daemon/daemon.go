// Package daemon is the command agentmux bot around package bot: it reads configuration and flags,
// collects everything that keeps the bot from beginning, holds the lock of the state home, and
// serves health, metrics and webhooks beside the bot.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/admission"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Options are the flags of agentmux bot.
type Options struct {
	Repos, Orgs           []string
	Webhook               string
	Interval, Max         string
	Once, DryRun, Systemd bool
}

// Run serves until ctx ends, or with --once until nothing is left to do.
func Run(ctx context.Context, f *site.Finder, o *Options) error {
	if o.Systemd {
		return printUnit(f, o)
	}
	w, err := plan(ctx, f, o)
	if err != nil {
		return err
	}
	if o.DryRun {
		return bot.Rehearse(ctx, w.options, f.Out)
	}
	home := site.StateHome()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	lock, err := durable.Lock(filepath.Join(home, "bot.lock"), fmt.Sprintf("pid %d\n", os.Getpid()))
	if errors.Is(err, durable.ErrLocked) {
		return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("another agentmux bot runs here; its lock is %s", filepath.Join(home, "bot.lock"))}
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // it ends with the process
	return w.run(ctx)
}

// wired is a bot that is about to begin.
type wired struct {
	finder  *site.Finder
	flags   *Options
	options bot.Options
	secrets []secret
}

// run serves the bot, its status and its webhooks.
func (w *wired) run(ctx context.Context) error {
	b, err := bot.New(w.options)
	if err != nil {
		return exit.Usage(err)
	}
	listeners, err := w.listen(ctx)
	if err != nil {
		return err
	}
	beside, stop := context.WithCancel(ctx)
	done := listeners.serve(beside, b, w)
	err = b.Run(ctx)
	stop()
	<-done
	if err != nil {
		return exit.Usage(err)
	}
	w.farewell(b.Report())
	return nil
}

// farewell says what a stop leaves.
func (w *wired) farewell(r bot.Report) {
	live := 0
	for _, n := range r.Sessions {
		live += n
	}
	if live == 0 && r.Tickets == 0 {
		return
	}
	w.finder.Say("stopped; the agents of %s stay at work, %s. agentmux bot continues with all of them. "+
		"Another host may take their issues 10 minutes from now.", count(live, "session"), count(r.Tickets, "waiting issue"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// plan reads configuration and flags and returns the bot that they ask for. The error lists all
// problems.
func plan(ctx context.Context, f *site.Finder, o *Options) (*wired, error) {
	c, err := f.MachineConfig()
	if err != nil {
		return nil, err
	}
	w := &wired{finder: f, flags: o}
	p := &planning{wired: w, config: c}
	p.flags()
	p.webhook()
	p.account()
	p.repositories(ctx)
	p.machine(ctx)
	if len(p.problems) > 0 {
		return nil, exit.UsageText(strings.Join(p.problems, "\n"))
	}
	return w, nil
}

// logger is the log of the bot.
func logger(f *site.Finder, w io.Writer, c *config.Config) *slog.Logger {
	return f.Logger(w, c.Log.Level)
}

// hostOptions are those of every repository's host.
func hostOptions(f *site.Finder, c *config.Config) (host.Options, error) {
	own, err := site.Self()
	if err != nil {
		return host.Options{}, err
	}
	return host.Options{
		Self: own, StateHome: site.StateHome(), RuntimeDir: site.RuntimeDir(), Home: site.Home(), Log: logger(f, f.Err, c), Redactor: f.Redactor(),
	}, nil
}

// sessionLog opens the log of a session.
func sessionLog(f *site.Finder, c *config.Config) func(string) (*slog.Logger, io.Closer, error) {
	return func(file string) (*slog.Logger, io.Closer, error) {
		out, err := session.OpenLog(file)
		if err != nil {
			return nil, nil, fmt.Errorf("open log: %w", err)
		}
		return logger(f, out, c), out, nil
	}
}

// configOf returns the machine's configuration with the files of a repository's commit.
func configOf(f *site.Finder, c *config.Config) func(fs.FS) (*config.Config, document.Problems) {
	return func(files fs.FS) (*config.Config, document.Problems) {
		s := f.Sources("")
		s.Project = files
		of, problems := config.Check(s)
		if of != nil {
			of.Bot = c.Bot // with the flags
		}
		return of, problems
	}
}

// machineOf is this machine, and how many sessions it runs at once.
func machineOf(c *config.Config) (admission.Machine, int) {
	m := admission.Machine{StateHome: site.StateHome()}
	if c.Bot.MaxConcurrent.Auto {
		return m, m.Slots(runtime.NumCPU())
	}
	return m, c.Bot.MaxConcurrent.N
}

// listeners are the sockets beside the bot; nil: not asked for.
type listeners struct{ status, hooks net.Listener }

func (w *wired) listen(ctx context.Context) (l listeners, err error) {
	if addr := w.options.Config.Bot.StatusAddr; addr != "" {
		if l.status, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr); err != nil {
			return l, exit.Usage(fmt.Errorf("bot.status_addr: %w; set another address, or \"\" for none", err))
		}
	}
	if w.flags.Webhook == "" {
		return l, nil
	}
	if l.hooks, err = intake.Listen(ctx, w.flags.Webhook); err != nil {
		if l.status != nil {
			l.status.Close()
		}
		return l, exit.Usage(fmt.Errorf("--webhook: %w", err))
	}
	return l, nil
}

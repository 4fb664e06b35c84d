// Package daemon is the command agentmux bot around package bot: it reads configuration and flags,
// collects everything that keeps the bot from beginning, holds the lock of the state home, and
// serves health, metrics and webhooks beside the bot.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/admission"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/footprint"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Options are the flags of agentmux bot.
type Options struct {
	Repos, Orgs           []string
	Webhook               string
	Interval, Max         string
	Once, DryRun, Systemd bool
	Empty                 []string // flags that were given without a value, as by a variable that is not set
	Job                   *Job     // nil: it serves all issues
}

// Job has the bot serve one issue once, as the process of a job of GitHub Actions: a signal cancels
// its session, and nothing listens.
type Job struct {
	Issue     int
	Pull      int  // of the issue, on which a comment asks; 0: none
	Commanded bool // a comment started the job
	Host      claim.HostID
	ParkAfter time.Duration // with nothing to do until a person decides
	// Change puts the inputs of the job over a configuration.
	Change func(*config.Config)
	// Opened is told of each session that is run, by its directory, and returns what is called when
	// it is let go of.
	Opened func(dir string) io.Closer
	// Ended is told how the bot did.
	Ended func(report.Report)

	warned warnings
}

// Run serves until ctx ends, or with --once until nothing is left to do.
func Run(ctx context.Context, f *site.Finder, o *Options) error {
	if o.Systemd {
		return printUnit(ctx, f, o)
	}
	lock, lockErr := lockHome(o)
	if exit.As[*exit.Error](lockErr) {
		return lockErr
	}
	if lock != nil {
		defer func() { _ = lock.Close() }() // it ends with the process
	}
	w, err := plan(ctx, f, o)
	if err = cmp.Or(err, lockErr); err != nil { // what keeps it from being locked has a line in the plan's error
		return err
	}
	if o.DryRun {
		return bot.Rehearse(ctx, w.options, f.Out)
	}
	return w.run(ctx)
}

// Lock is the file of the state home whose lock a bot, or a job, holds while it works.
const Lock = "bot.lock"

// lockHome takes the lock of the state home, which one bot holds; nil with --dry-run, which writes nothing.
func lockHome(o *Options) (io.Closer, error) {
	if o.DryRun {
		return nil, nil
	}
	home := site.StateHome()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(home, Lock)
	// A child that a killed bot was about to start has its lock until it runs, which a busy machine delays.
	lock, err := durable.LockWithin(name, fmt.Sprintf("pid %d\n", os.Getpid()), durable.HandOver)
	switch {
	case errors.Is(err, durable.ErrLocked) && o.Job != nil:
		return nil, &exit.Error{Code: exit.Locked, Err: fmt.Errorf("another job works in this runner's directory for temporary files, by the lock %s; give each runner a work directory of its own%s", name, startsAgain)}
	case errors.Is(err, durable.ErrLocked):
		return nil, &exit.Error{Code: exit.Locked, Err: fmt.Errorf("another agentmux bot runs here; its lock is %s", name)}
	case err != nil:
		return nil, err
	}
	return lock, nil
}

// wired is a bot that is about to begin.
type wired struct {
	finder    *site.Finder
	flags     *Options
	options   bot.Options
	secrets   []secret
	listeners listeners
}

// trimAfter is when a bot has read its repositories, as a rule: it is idle from then on, for most of its life.
const trimAfter = 30 * time.Second

// run serves the bot, its status and its webhooks.
func (w *wired) run(ctx context.Context) error {
	w.finder.Outlive()
	b, err := bot.New(w.options)
	if err != nil {
		w.listeners.close()
		return exit.Usage(err)
	}
	beside, stop := context.WithCancel(ctx)
	done := w.listeners.serve(beside, b, w)
	trim := time.AfterFunc(trimAfter, footprint.Trim)
	serve := w.serve
	if j := w.flags.Job; j != nil {
		footprint.Save() // its agents have the memory of the runner
		serve = j.serve
	}
	err = serve(ctx, b)
	trim.Stop()
	stop()
	<-done
	return err
}

// serve runs a bot that serves all issues.
func (w *wired) serve(ctx context.Context, b *bot.Bot) error {
	if err := b.Run(ctx); err != nil {
		return exit.Usage(err)
	}
	w.farewell(b.Report())
	return nil
}

// farewell says what a stop leaves.
func (w *wired) farewell(r report.Report) {
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

// silence is how long nothing is said while GitHub is asked.
const silence = 2 * time.Second

// plan reads configuration and flags and returns the bot that they ask for. The error lists all
// problems, a line each.
func plan(ctx context.Context, f *site.Finder, o *Options) (*wired, error) {
	w := &wired{finder: f, flags: o}
	c, err := f.Salvage()
	p := &planning{wired: w, config: c.Config, known: c.Knows}
	if err != nil { // what does not depend on the keys that it is about is looked at all the same
		p.problem("%v", err)
	}
	p.flags()
	p.webhook()
	p.account()
	server := p.options.Host.Server
	waits := time.AfterFunc(silence, func() { f.Say("waiting for %s to answer", server) })
	p.repositories(ctx)
	waits.Stop()
	p.machine(ctx)
	p.job()
	p.listen(ctx)
	if err := p.err(); err != nil {
		w.listeners.close()
		return nil, err
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
		Self: own, StateHome: site.StateHome(), Stores: f.Stores, RuntimeDir: site.RuntimeDir(), Home: site.Home(), Log: logger(f, f.Err, c), Redactor: f.Redactor(),
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
func configOf(f *site.Finder, c *config.Config, j *Job) func(fs.FS) (*config.Config, document.Problems) {
	return func(files fs.FS) (*config.Config, document.Problems) {
		s := f.Sources("")
		s.Project = files
		of, problems := config.Check(s)
		if of != nil {
			of.Bot = c.Bot // with the flags
			if j != nil {
				j.Change(of)
			}
		}
		return of, problems
	}
}

// machineOf is this machine, and how many sessions it runs at once.
func machineOf(f *site.Finder, c *config.Config) (admission.Machine, int) {
	m := admission.Machine{StateHome: site.StateHome(), Stores: f.Stores}
	if c.Bot.MaxConcurrent.Auto {
		return m, m.Slots(runtime.NumCPU())
	}
	return m, c.Bot.MaxConcurrent.N
}

package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/bell"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/queue"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/bot/round"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/orchestrator/watch"
)

// Accounts are those of the identities that the bot acts as; see [account.Book].
type Accounts interface {
	// For finds the account for a repository.
	For(ctx context.Context, repo ghsync.Repo) (account.Account, error)
	// Sweep returns a client that searches an organisation.
	Sweep(ctx context.Context, owner string) (*ghsync.Client, error)
	// Absent are the identities that GitHub refuses now.
	Absent() []account.Absence
	// Quotas are the server's limits of each identity, by resource, and Traffic what was sent for it.
	Quotas() map[int64]map[string]transport.Quota
	Traffic() map[int64]transport.Traffic
}

// Options are what a Bot needs of its process.
type Options struct {
	Config *config.Config // of the machine, without that of a repository
	// ConfigOf returns the machine's configuration with the files of a repository's commit.
	ConfigOf func(files fs.FS) (*config.Config, document.Problems)
	Host     host.Options // of all repositories; GitHub, Token and Server are those of the account
	Accounts Accounts
	Repos    []ghsync.Repo
	// Workflows are the names that a request label may have behind it, for the search of an organisation.
	Workflows   []string
	Machine     queue.Machine
	Slots       int          // sessions at once
	Once        bool         // end when everything was judged and every session has ended
	Issue, Pull int          // served alone, by a job, whose end cancels its session; 0: all are. Pull is one of Issue, on which a comment asks; 0: none
	Met         *request.Met // Issue as that job met it; nil: it is read
	Commanded   bool         // a comment started that job: what a dead host left waits for what it says
	HostID      claim.HostID // empty: that of the machine
	Now         func() time.Time
	Log         *slog.Logger
	// SessionLog opens the log of a session.
	SessionLog func(file string) (*slog.Logger, io.Closer, error)
}

// Bot serves repositories. See the package comment.
type Bot struct {
	Options
	host  claim.HostID
	queue *queue.Queue

	life     context.Context // of everything that outlives a call; set by Run
	fail     func(error)     // ends Run
	work     sync.WaitGroup  // loops of the repositories
	sessions sync.WaitGroup  // goroutines of tickets and sessions
	atWork   atomic.Int64    // how many there are

	serving sync.Mutex // one repository is opened at a time
	mu      sync.Mutex
	repos   []*repository
	watches map[string]*watched // by account
	counts  report.Counts
}

// New checks the options and touches nothing.
func New(o Options) (*Bot, error) {
	if len(o.Repos) == 0 && len(o.Config.Bot.Orgs) == 0 {
		return nil, errors.New("no repository to serve")
	}
	if o.Slots < 1 {
		return nil, fmt.Errorf("%d sessions at once: at least one is needed", o.Slots)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Host.Watcher = watch.New(watch.Options{Log: o.Log})
	b := &Bot{Options: o, host: o.HostID, watches: map[string]*watched{}}
	b.queue = queue.New(queue.Options{
		Slots: o.Slots, Machine: o.Machine, Gate: o.Config.Gate, Now: o.Now, History: b.history, OpenPulls: b.openPulls,
	})
	return b, nil
}

// Run serves the repositories until ctx ends, or with Once until nothing is left to do. Sessions are
// let go of then: their agents continue, and the next Run adopts them. An error names what keeps the
// bot from beginning, all of it at once.
func (b *Bot) Run(ctx context.Context) error {
	asked := ctx
	// Sessions that end with a signal as their cause are canceled; these are let go of.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(asked, func() {
		if b.Issue == 0 {
			cancel(nil) // the agents go on
			return
		}
		cancel(context.Cause(asked))
	})()
	b.life, b.fail = ctx, cancel
	var problems []error
	for _, repo := range b.Repos {
		problems = append(problems, b.open(ctx, repo))
	}
	for _, org := range b.Config.Bot.Orgs {
		problems = append(problems, b.openOrg(ctx, org))
	}
	if err := errors.Join(problems...); err != nil {
		cancel(nil)
		b.wait()
		return err
	}
	b.loop(ctx, func() { b.queue.Run(ctx) })
	if b.Once {
		b.work.Go(func() { cancel(round.Wait(ctx, b.parts)) })
	}
	<-ctx.Done()
	b.wait()
	if err := context.Cause(ctx); asked.Err() == nil && !errors.Is(err, round.ErrServed) {
		return err
	}
	return nil
}

// loop runs what serves until ctx ends. A panic costs what met it a pause, and nothing else anything.
func (b *Bot) loop(ctx context.Context, run func()) {
	b.work.Go(func() {
		once := func() (err error) {
			defer b.survive(b.Log, &err)
			run()
			return nil
		}
		for once() != nil && transport.Wait(ctx, restartPause) {
		}
	})
}

// survive makes a panic the error of what met it, which is tried again. It ends nothing else.
func (b *Bot) survive(log *slog.Logger, err *error) {
	if p := recover(); p != nil {
		b.counts.Panic()
		log.Error("panic", "err", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("panic: %v", p)
	}
}

// spawn runs the goroutine of a ticket or of a session.
func (b *Bot) spawn(run func()) {
	b.atWork.Add(1)
	b.sessions.Go(func() {
		defer b.atWork.Add(-1)
		run()
	})
}

func (b *Bot) wait() {
	b.work.Wait()
	b.sessions.Wait()
}

// openOrg serves what an earlier process served of an organisation and has work left, and searches it
// for requests.
func (b *Bot) openOrg(ctx context.Context, org string) error {
	h, err := host.New(b.Host)
	if err != nil {
		return err
	}
	known, err := h.Projects().ManagedBy(org, b.Config)
	if err != nil {
		return err
	}
	for _, repo := range known {
		if _, err := b.serve(ctx, repo, true); err != nil {
			b.Log.Warn("a repository of an organisation is not served", "repo", repo.String(), "err", err)
		}
	}
	return b.sweep(ctx, org)
}

// openPause is how long a repository that could not be opened is left alone at first; doubled up to
// maxOpenPause.
const openPause, maxOpenPause = 5 * time.Second, 2 * time.Minute

// open serves a repository. One that cannot be reached now is tried again until it can.
func (b *Bot) open(ctx context.Context, repo ghsync.Repo) error {
	_, err := b.serve(ctx, repo, false)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	if _, passes := transport.Later(err); !passes || errors.As(err, new(*claim.RefusedError)) {
		return fmt.Errorf("%s: %w", repo, err)
	}
	b.work.Go(func() {
		for failures := 1; err != nil && ctx.Err() == nil; failures++ {
			wait, _ := transport.Later(err)
			wait = max(wait, min(openPause<<min(failures-1, 10), maxOpenPause))
			b.Log.Warn("a repository is not served yet", "repo", repo.String(), "wait", wait.String(), "err", err)
			b.counts.Serve(repo.String(), b.Host.Redactor.Line(err))
			if transport.Wait(ctx, wait) {
				_, err = b.serve(ctx, repo, false)
			}
		}
		b.counts.Serve(repo.String(), "")
	})
	return nil
}

// serve opens a repository, takes up what an earlier process left of it, and begins to serve it. One
// that is served already is returned. swept: a sweep finds its requests.
func (b *Bot) serve(ctx context.Context, repo ghsync.Repo, swept bool) (*repository, error) {
	b.serving.Lock()
	defer b.serving.Unlock()
	if r := b.named(repo); r != nil {
		return r, nil
	}
	r, err := b.openRepository(ctx, repo)
	if err != nil {
		return nil, err
	}
	if known := b.repository(r.id); known != nil {
		return known, nil // by another name
	}
	r.swept.Store(swept)
	if b.Issue == 0 { // a job was started by the label
		if err := request.EnsureLabel(ctx, r.account.Client, r.name(), b.Config.Bot.Label, b.Host.Redactor.Line, r.log()); err != nil {
			return nil, err
		}
	}
	ring, err := bell.Open(r.dir(), b.Options.Host.Watcher)
	if err != nil {
		return nil, err
	}
	if err := r.adopt(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("take up what is left: %w", err), ring.Close())
	}
	b.mu.Lock()
	b.repos = append(b.repos, r)
	b.mu.Unlock()
	r.log().Info("an issue that gets the label becomes a session", "label", b.Config.Bot.Label)
	next := r.lookout.Look(ctx)
	for _, run := range []func(){
		func() { r.met.Run(ctx, b.Now) }, func() { r.pulls.Run(ctx, b.Now) }, func() { r.keeper.Run(ctx) },
		func() { r.lookout.Run(ctx, next) }, func() { r.ear.Run(ctx) }, func() { r.follow.Run(ctx) },
		func() { _ = r.desk.Run(ctx) },                              // it ends with ctx; the log tells what fails meanwhile
		func() { ring.Run(ctx, r.rung, r.log()); _ = ring.Close() }, // nothing rings any more
	} {
		b.loop(ctx, run)
	}
	b.aim()
	return r, nil
}

// parts are the repositories of a run with Once, which ends when every one was read whole, every issue and command
// judged, every session has ended and every receipt was given.
func (b *Bot) parts() (parts []round.Part, busy bool) {
	all, facts := b.all(), b.facts()
	for _, r := range all {
		f := facts[r.id]
		parts = append(parts, round.Part{
			Repo: r.name().String(), Read: r.swept.Load() || !f.Synced.IsZero(), Err: f.Err,
			Sets: []round.Set{r.met, r.pulls}, Idle: r.ear.Idle() && len(r.journal.Pending()) == 0,
		})
	}
	return parts, len(all) < len(b.Repos) || b.atWork.Load() > 0
}

// history is what was started in a repository.
func (b *Bot) history(id int64) gate.History {
	if r := b.repository(id); r != nil {
		return r.journal
	}
	return nil
}

// openPulls counts the open pull requests of the program in a repository.
func (b *Bot) openPulls(ctx context.Context, id int64) gate.Count {
	r := b.repository(id)
	if r == nil {
		return gate.Count{Err: errors.New("the repository is not served")}
	}
	n, err := r.server.OpenPulls(ctx, r.name())
	return gate.Count{N: n, Err: err}
}

func (b *Bot) all() []*repository {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.repos)
}

// rules are those of the gate, with the repositories of the command line. One that an organisation
// brings is not named: it has to stay there, and a fork is refused.
func (b *Bot) rules() config.Bot {
	rules := b.Config.Bot
	for _, r := range b.all() {
		if !r.asked {
			continue
		}
		rules.Repos = append(rules.Repos[:len(rules.Repos):len(rules.Repos)], r.name().String())
	}
	return rules
}

// repository returns the one with an id; nil if it is not served.
func (b *Bot) repository(id int64) *repository {
	return b.which(func(r *repository) bool { return r.id == id })
}

// named returns the one with a name; nil if it is not served.
func (b *Bot) named(repo ghsync.Repo) *repository {
	return b.which(func(r *repository) bool { return strings.EqualFold(r.name().String(), repo.String()) })
}

func (b *Bot) which(is func(*repository) bool) *repository {
	all := b.all()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

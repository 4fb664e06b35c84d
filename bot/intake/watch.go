package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/turnstile"
)

const (
	// readers is how many pollers read at a time. Few requests wait in the transport then, so a
	// poller that a hook woke is among the next.
	readers = 4
	// lingering is how long the repository of a sweep is polled after a hook.
	lingering = 10 * time.Minute
)

// Target is a repository to watch.
type Target struct {
	Client *ghsync.Client
	Repo   ghsync.Repo
	ID     int64
	Mode
	// Swept: a Sweep finds its requests, so it is polled only while it is Busy, has a session
	// or a pull request, or after a hook.
	Swept bool
	Busy  bool // it has a ticket, or a sweep has named it
}

// WatchOptions are what a Watch needs. Label and Found are required.
type WatchOptions struct {
	Label     string
	Every     time.Duration // bot.poll_interval; 0: auto
	Issue     int           // as in Options, and so is
	Commanded bool          // a comment asks for it
	// Found and Moved are as in Options; Found is called by several goroutines at a time, one
	// for each repository.
	Found func(context.Context, Changes) error
	Moved func(id int64, former, now ghsync.Repo)
	// Core is the quota of the identity as last seen; nil: there is none.
	Core  func() transport.Quota
	Aged  func(time.Duration)
	Clock Clock
	Rand  func() float64
	Log   *slog.Logger
}

// Watch keeps the pollers of the repositories of one identity, which share its limits: how often
// they read depends on how many there are, and those that a hook woke read first.
type Watch struct {
	o     WatchOptions
	clock Clock
	turns *turnstile.Turnstile
	poked chan struct{}

	mu      sync.Mutex
	targets map[int64]Target
	running map[int64]*watched
	hooked  map[int64]time.Time // when the last hook came for one of a sweep, or without a poller
	pace    Pace                // as logged last
}

// watched is a poller that runs.
type watched struct {
	*Poller
	end  context.CancelFunc
	done chan struct{}
}

// NewWatch returns a watch of no repository.
func NewWatch(o WatchOptions) *Watch {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Watch{
		o: o, clock: o.Clock.whole(), turns: turnstile.New(readers, int(urgencies)), poked: make(chan struct{}, 1),
		targets: map[int64]Target{}, running: map[int64]*watched{}, hooked: map[int64]time.Time{},
	}
}

// Set names the repositories to watch from now on. A Client or Repo other than before counts only
// for a poller that does not run yet.
func (w *Watch) Set(targets []Target) {
	w.mu.Lock()
	clear(w.targets)
	for _, t := range targets {
		w.targets[t.ID] = t
	}
	w.mu.Unlock()
	w.poke()
}

// Wake lets a repository be read within a second. It reports whether it is one that is watched.
func (w *Watch) Wake(id int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, known := w.targets[id]
	if !known {
		return false
	}
	p := w.running[id]
	if t.Swept || p == nil {
		w.hooked[id] = w.clock.Now()
	}
	if p != nil {
		p.Wake()
	} else {
		w.poke() // Run starts a poller
	}
	return true
}

// Facts returns how the pollers do that run, by the names of their repositories.
func (w *Watch) Facts() []Facts {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]Facts, 0, len(w.running))
	for _, p := range w.running {
		all = append(all, p.Facts())
	}
	slices.SortFunc(all, func(a, b Facts) int { return strings.Compare(a.Repo.String(), b.Repo.String()) })
	return all
}

func (w *Watch) poke() {
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

// Run polls until ctx ends, and returns when all pollers have ended.
func (w *Watch) Run(ctx context.Context) {
	for ctx.Err() == nil {
		var timer <-chan time.Time
		if d := w.reconcile(ctx); d > 0 {
			timer = w.clock.After(d)
		}
		select {
		case <-ctx.Done():
		case <-w.poked:
		case <-timer:
		}
	}
	w.mu.Lock()
	all := w.running
	w.running = map[int64]*watched{}
	w.mu.Unlock()
	for _, p := range all {
		p.end()
		<-p.done
	}
}

// Once lets each repository that Run would poll be read once, as Poller.Once does, and returns all
// errors when that was tried for each. It is called instead of Run.
func (w *Watch) Once(ctx context.Context) error {
	w.mu.Lock()
	var all []*Poller
	for _, id := range slices.Sorted(maps.Keys(w.targets)) {
		if w.wanted(id) {
			p := w.poller(w.targets[id])
			p.Set(w.targets[id].Mode)
			w.running[id] = &watched{Poller: p}
			all = append(all, p)
		}
	}
	w.mu.Unlock()
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, p := range all {
		done.Go(func() {
			if err := p.Once(ctx); err != nil {
				errs[i] = fmt.Errorf("read %s: %w", p.Facts().Repo, err)
			}
		})
	}
	done.Wait()
	return errors.Join(errs...)
}

// reconcile starts and ends pollers. It returns after how long it has to be called again, 0 for
// not before a change.
func (w *Watch) reconcile(ctx context.Context) (again time.Duration) {
	old := w.unwanted()
	for _, p := range old {
		p.end()
	}
	for _, p := range old {
		<-p.done // one poller at a time reads a repository
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, t := range w.targets {
		if !w.wanted(id) {
			continue
		}
		if w.running[id] == nil {
			w.running[id] = w.start(ctx, t)
		}
		w.running[id].Set(t.Mode)
	}
	now := w.clock.Now()
	for _, at := range w.hooked {
		if left := at.Add(lingering).Sub(now); again == 0 || left < again {
			again = max(left, time.Second)
		}
	}
	return again
}

// unwanted takes out the pollers that are to end.
func (w *Watch) unwanted() []*watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	maps.DeleteFunc(w.hooked, func(_ int64, at time.Time) bool { return now.Sub(at) >= lingering })
	var all []*watched
	for id, p := range w.running {
		if !w.wanted(id) {
			all = append(all, p)
			delete(w.running, id)
		}
	}
	return all
}

// wanted reports whether a repository is polled. The caller has the lock.
func (w *Watch) wanted(id int64) bool {
	t, known := w.targets[id]
	_, hooked := w.hooked[id]
	return known && (!t.Swept || t.Busy || t.Mode != Mode{} || hooked)
}

// poller returns one that shares the turns and the pace of all.
func (w *Watch) poller(t Target) *Poller {
	o := Options{
		Client: t.Client, Repo: t.Repo, RepoID: t.ID, Label: w.o.Label, Issue: w.o.Issue, Commanded: w.o.Commanded, Found: w.o.Found, Pace: w.next, Turn: w.turn,
		Aged: w.o.Aged, Clock: w.o.Clock, Rand: w.o.Rand, Log: w.o.Log,
	}
	if w.o.Moved != nil {
		o.Moved = func(former, now ghsync.Repo) { w.o.Moved(t.ID, former, now) }
	}
	return NewPoller(o)
}

// start starts a poller. The caller has the lock.
func (w *Watch) start(ctx context.Context, t Target) *watched {
	ctx, end := context.WithCancel(ctx)
	p := &watched{Poller: w.poller(t), end: end, done: make(chan struct{})}
	if _, hooked := w.hooked[t.ID]; hooked {
		p.Wake()
	}
	go func() {
		defer close(p.done)
		p.Run(ctx)
	}()
	return p
}

func (w *Watch) turn(ctx context.Context, u Urgency) (leave func(), err error) {
	if err := w.turns.Enter(ctx, int(u)); err != nil {
		return nil, err
	}
	return w.turns.Leave, nil
}

// next returns the pace of all pollers, and logs it when it becomes another one.
func (w *Watch) next() Pace {
	var l Load
	if w.o.Core != nil {
		l.Core = w.o.Core()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.running {
		l.Repositories++
		if w.targets[id].Live {
			l.Live++
		}
		if w.targets[id].Pulls {
			l.Pulls++
		}
	}
	p := l.Pace(w.o.Every, w.clock.Now())
	if p.Slow != w.pace.Slow || p.Every > w.pace.Every*5/4 || p.Every < w.pace.Every*4/5 {
		w.pace = p
		log := w.o.Log
		if p.Slow != "" {
			log = log.With("slowed_by", string(p.Slow))
		}
		log.Info("the interval of polling", "every", p.Every.Round(time.Second).String(), "repositories", l.Repositories)
	}
	return p
}

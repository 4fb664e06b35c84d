package intake

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// Options are what a Poller needs. Client, Repo, RepoID, Label and Found are required.
type Options struct {
	Client    *ghsync.Client
	Repo      ghsync.Repo
	RepoID    int64
	Label     string // bot.label
	Issue     int    // the only one that is served, in a repository that was just found; 0: all are
	Commanded bool   // a comment asks for that issue: it is a candidate only if a list shows its label

	// Found takes in what was read; what it returns an error for is read again. It is called
	// by one goroutine at a time, and holds up the poller and those that wait for its turn.
	Found func(context.Context, Changes) error
	// Moved is told that the repository has another name.
	Moved func(former, now ghsync.Repo)
	// Pace is asked before each reading; nil: as for one repository.
	Pace func() Pace
	// Turn waits until the poller may read, and returns how it ends its turn; nil: at once.
	Turn func(context.Context, Urgency) (leave func(), err error)
	// Aged is told how long a hook waited for the reading it asked for.
	Aged func(time.Duration)

	Clock Clock
	Rand  func() float64 // from 0 to 1, for the spread of intervals
	Log   *slog.Logger
}

// Urgency orders pollers that wait for their turn.
type Urgency int

const (
	Woken   Urgency = iota // by a hook
	Regular                // by the interval
	Full                   // for the full sync

	urgencies
)

// Mode is what of ours a repository has.
type Mode struct {
	Live  bool // a session: its comments are read more often
	Pulls bool // an open pull request of a session: the list of them is read, too
}

// Facts are how a poller does.
type Facts struct {
	Repo   ghsync.Repo
	RepoID int64
	Mode   Mode
	Pace   Pace
	// Polled is when the lists were read last, and Synced when everything was, without an error.
	Polled, Synced time.Time
	// Readings and Hooks count what was begun, and what asked for it besides the interval.
	Readings, Hooks int
	// Err is why the last reading failed, and Failing since when; nil: it did not.
	Err     error
	Failing time.Time
	Missing bool // the repository is gone, or this account does not see it
}

// Poller watches one repository.
type Poller struct {
	o     Options
	in    ghsync.Intake
	clock Clock
	log   *slog.Logger
	poked chan struct{} // has a value when woken or mode changed

	// Only Run touches these. It holds mu where it changes repo.
	repo   ghsync.Repo
	alias  ghsync.Repo // another name that lists have
	when   schedule
	lists  [everything]list
	open   []int // pull requests of the last reading
	full   fullSync
	hooked time.Time    // when the first hook came that waits for a reading; zero: none
	errs   [parts]error // why each part could not be read
	told   time.Time    // when an error was logged last

	mu    sync.Mutex
	woken time.Time // by the first hook that was not taken yet; zero: none
	raise func()    // ends the wait for a turn that is not urgent; may be nil
	mode  Mode
	facts Facts
}

// NewPoller returns a poller that knows nothing. It reads when Run runs.
func NewPoller(o Options) *Poller {
	p := &Poller{
		o: o, in: ghsync.Intake{Client: o.Client}, clock: o.Clock.whole(), log: o.Log, poked: make(chan struct{}, 1), repo: o.Repo,
		facts: Facts{Repo: o.Repo, RepoID: o.RepoID},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.o.Rand == nil {
		p.o.Rand = rand.Float64
	}
	if p.o.Pace == nil {
		p.o.Pace = func() Pace { return Load{Repositories: 1}.Pace(0, p.clock.Now()) }
	}
	if p.o.Turn == nil {
		p.o.Turn = func(context.Context, Urgency) (func(), error) { return func() {}, nil }
	}
	return p
}

// Wake lets the lists be read within a second, and again if that shows nothing new. It may be
// called at any time, and any number of times.
func (p *Poller) Wake() {
	p.mu.Lock()
	p.facts.Hooks++
	if p.woken.IsZero() {
		p.woken = p.clock.Now()
	}
	if p.raise != nil {
		p.raise()
	}
	p.mu.Unlock()
	p.poke()
}

// Set says what of ours the repository has from now on.
func (p *Poller) Set(m Mode) {
	p.mu.Lock()
	changed := p.mode != m
	p.mode, p.facts.Mode = m, m
	p.mu.Unlock()
	if changed {
		p.poke()
	}
}

// Facts returns how the poller does.
func (p *Poller) Facts() Facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.facts
}

func (p *Poller) poke() {
	select {
	case p.poked <- struct{}{}:
	default:
	}
}

// busy reports whether there is a session or a pull request of one.
func (p *Poller) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode != Mode{}
}

// Run reads until ctx ends. It may be called once.
func (p *Poller) Run(ctx context.Context) {
	ctx = p.begin(ctx)
	for mode := (Mode{}); p.wait(ctx, &mode); {
		p.turn(ctx, mode)
	}
}

// Once reads the lists and then everything, as Run does at its start, and returns when all was
// tried: the error tells what could not be read. It waits for our own limits and follows a rename.
// It is called instead of Run.
func (p *Poller) Once(ctx context.Context) error {
	ctx = p.begin(ctx)
	for mode := (Mode{}); p.wait(ctx, &mode); {
		p.turn(ctx, mode)
		if f := p.Facts(); !f.Synced.IsZero() || p.when.failed[everything] > 0 {
			return f.Err
		}
	}
	return ctx.Err()
}

func (p *Poller) begin(ctx context.Context) context.Context {
	now := p.clock.Now()
	for i := range p.when.due {
		p.when.due[i] = now
	}
	p.when.off[pulls] = true
	if p.o.Issue != 0 && !p.o.Commanded {
		// The full sync hands the issue on, and what is done for it then changes the list at once.
		p.when.due[issues] = now.Add(p.o.Pace().Every)
	}
	return transport.WithPriority(ctx, transport.PriorityDiscovery)
}

// wait returns true when there is something to read, and false when ctx ended.
func (p *Poller) wait(ctx context.Context, mode *Mode) bool {
	for ctx.Err() == nil {
		now := p.clock.Now()
		p.take(mode, now)
		d := p.when.next().Sub(now)
		if d <= 0 {
			return true
		}
		select {
		case <-ctx.Done():
		case <-p.poked:
		case <-p.clock.After(d):
		}
	}
	return false
}

// take takes a hook that woke the poller and a change of the mode. It is called before the lists
// are read, so that what comes while they are read leads to another reading.
func (p *Poller) take(mode *Mode, now time.Time) {
	p.mu.Lock()
	woken, former := p.woken, *mode
	p.woken, *mode = time.Time{}, p.mode
	p.mu.Unlock()
	if p.when.off[pulls] = !mode.Pulls; !mode.Pulls {
		p.errs[pulls] = nil // it is of no interest now
	}
	if mode.Pulls && !former.Pulls {
		p.when.due[pulls] = now
	}
	if mode.Live && !former.Live {
		p.when.due[comments] = now
	}
	if !woken.IsZero() {
		p.when.hook(now)
		if p.hooked.IsZero() {
			p.hooked = woken
		}
	}
	p.when.ripen(now)
}

// turn waits for the poller's turn and reads what is due.
func (p *Poller) turn(ctx context.Context, mode Mode) {
	leave, err := p.enter(ctx)
	if err != nil {
		return // ctx ended, or a hook came
	}
	defer leave()
	now, pace := p.clock.Now(), p.o.Pace()
	p.mu.Lock()
	p.facts.Readings++
	p.facts.Pace = pace
	p.mu.Unlock()
	if p.when.began = now; p.when.urgency(now) == Full {
		p.readEverything(ctx, pace)
		return
	}
	if !p.hooked.IsZero() && p.o.Aged != nil {
		p.o.Aged(now.Sub(p.hooked))
	}
	p.hooked = time.Time{}
	p.readLists(ctx, mode, pace)
}

// enter waits for the turn. A hook ends a wait behind others, because it goes before them.
func (p *Poller) enter(ctx context.Context) (leave func(), err error) {
	urgency := p.when.urgency(p.clock.Now())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	if urgency != Woken {
		p.raise = cancel
	}
	if p.raise != nil && !p.woken.IsZero() { // since the last look
		p.raise()
	}
	p.mu.Unlock()
	leave, err = p.o.Turn(ctx, urgency)
	p.mu.Lock()
	p.raise = nil
	p.mu.Unlock()
	return leave, err
}

// readLists reads the lists that are due, one after the other.
func (p *Poller) readLists(ctx context.Context, mode Mode, pace Pace) {
	found, read, err := false, 0, error(nil)
	for l, list := range []func(context.Context) (found, far bool, err error){issues: p.readIssues, comments: p.readComments, pulls: p.readPulls} {
		l := part(l)
		if !p.when.isDue(l, p.when.began) {
			continue
		}
		some, far, failed := list(ctx)
		if found = found || some; failed != nil {
			if err = failed; p.failed(ctx, l, failed) {
				break
			}
			continue
		}
		read++
		every := pace.Every
		if l == comments && mode.Live {
			every = pace.Comments
		}
		p.when.done(l, p.spread(every))
		if p.worked(l); far {
			p.when.due[everything], p.full.steps = p.when.began, nil // what a sync has read may be older
		}
	}
	if read > 0 {
		p.when.served(found)
	}
	if err == nil {
		p.mu.Lock()
		p.facts.Polled = p.clock.Now()
		p.mu.Unlock()
	}
}

// readEverything takes a step of the full sync.
func (p *Poller) readEverything(ctx context.Context, pace Pace) {
	if !p.when.isDue(everything, p.when.began) {
		return // the clock was set back
	}
	done, err := p.sync(ctx)
	if err != nil {
		p.failed(ctx, everything, err)
		return
	}
	if p.worked(everything); !done {
		return
	}
	p.when.done(everything, p.spread(pace.Sync))
	p.mu.Lock()
	p.facts.Synced = p.clock.Now()
	p.mu.Unlock()
}

// spread moves an interval by up to a tenth, so that pollers do not read in step.
func (p *Poller) spread(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*p.o.Rand()))
}

package follow

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/feedback"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/redact"
)

// Options are what a Follow needs.
type Options struct {
	Client  *ghsync.Client
	Repo    ghsync.Repo
	Bot     config.Bot // who may ask
	Owner   Owner
	Secrets *redact.Redactor
	Now     func() time.Time // by the clock of the server; nil: time.Now
	Local   func() time.Time // by that of this machine, which dates what sessions are told; nil: Now
	Log     *slog.Logger     // nil: none
}

// Follow follows the open pull requests of one repository. See the package comment.
type Follow struct {
	o    Options
	wake chan struct{}

	mu    sync.Mutex
	repo  ghsync.Repo
	pulls map[int]*watched
	every bool // all of them are due
	given int  // rounds
	told  int  // pull requests that were left to a person

	turning sync.Mutex
	lookups map[string]time.Time // by login: when a permission was asked for; only Turn touches it
	denied  map[string]bool      // by login: it turned out to be below write; likewise
}

// watched is a pull request that was heard of. What is below heard belongs to Turn.
type watched struct {
	heard   ghsync.OpenPull
	reviews []ghsync.Review
	changed bool // heard since the checks were read
	told    bool // that checks changed, since they were read

	passed   bool      // it was not looked at, since its session was at work
	next     time.Time // when it is looked at; zero: when something changes
	head     feedback.Head
	since    time.Time // the head is known
	readAt   time.Time
	pushed   string
	pushedAt time.Time
	seen     map[string]time.Time
	failures int
}

const (
	// checksEvery is the time between two readings of checks that are not finished.
	checksEvery = 5 * time.Minute
	// appearTime is how long the first check of a head may take to appear.
	appearTime = 15 * time.Minute
	// firstPause is after an error; doubled up to maxPause.
	firstPause, maxPause = 15 * time.Second, 10 * time.Minute
	// lookPause is between two readings of checks that webhooks lead to; each check sends some.
	lookPause = 10 * time.Second
	idle      = time.Hour
)

// New makes a Follow. Run works.
func New(o Options) *Follow {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Local == nil {
		o.Local = o.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Follow{o: o, wake: make(chan struct{}, 1), repo: o.Repo, pulls: map[int]*watched{}, lookups: map[string]time.Time{}, denied: map[string]bool{}}
}

// Hear takes in an open pull request that changed, and its reviews, oldest first. Those that are not
// of a session are forgotten.
func (f *Follow) Hear(p ghsync.OpenPull, reviews ...ghsync.Review) {
	f.mu.Lock()
	w := f.pulls[p.Number]
	if w == nil {
		w = &watched{}
		f.pulls[p.Number] = w
	}
	w.heard, w.reviews, w.changed = p, slices.Clone(reviews), true
	f.mu.Unlock()
	f.poke()
}

// Counts returns how many rounds sessions were asked for, and how often a person was asked instead.
func (f *Follow) Counts() (rounds, told int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.given, f.told
}

// count adds one to a figure of Counts.
func (f *Follow) count(figure *int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*figure++
}

// Leave forgets a pull request that is not open any more.
func (f *Follow) Leave(number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pulls, number)
}

// Wake says that a session ended, continues or pushed. Nothing is asked for it by itself.
func (f *Follow) Wake() {
	f.mu.Lock()
	f.every = true
	f.mu.Unlock()
	f.poke()
}

// Look has the checks of all pull requests read within lookPause, whether they were finished or not: a
// webhook says that some changed.
func (f *Follow) Look() {
	f.mu.Lock()
	for _, w := range f.pulls {
		w.told = true
	}
	f.mu.Unlock()
	f.poke()
}

// Move takes in another name of the repository.
func (f *Follow) Move(now ghsync.Repo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.repo = now
}

func (f *Follow) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (f *Follow) Run(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(f.Turn(ctx))
		select {
		case <-ctx.Done():
		case <-f.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Turn looks once at what is due, and returns how long nothing will be unless something is heard. Run
// calls it.
func (f *Follow) Turn(ctx context.Context) (wait time.Duration) {
	f.turning.Lock()
	defer f.turning.Unlock()
	due := f.due()
	if len(due) > 0 {
		ours, err := f.o.Owner.Pulls(ctx)
		if err != nil {
			f.o.Log.Warn("open pull requests are looked at later", "err", err)
			f.postpone(due)
			return firstPause
		}
		for _, number := range due {
			i := slices.IndexFunc(ours, func(p Pull) bool { return p.Number == number })
			if i < 0 {
				f.Leave(number)
				continue
			}
			f.inspect(ctx, ours[i])
		}
	}
	return f.rest()
}

// due takes the pull requests that are to be looked at now.
func (f *Follow) due() []int {
	now := f.o.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	var due []int
	for _, number := range slices.Sorted(maps.Keys(f.pulls)) {
		w := f.pulls[number]
		if f.every || w.changed || w.lookIn(now) <= 0 || !w.next.IsZero() && !now.Before(w.next) {
			due = append(due, number)
		}
	}
	f.every = false
	return due
}

func (f *Follow) postpone(due []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, number := range due {
		if w := f.pulls[number]; w != nil {
			w.next = f.o.Now().Add(firstPause)
		}
	}
}

// lookIn is after how long a webhook leads to a look at w. After an error that has its own pause.
func (w *watched) lookIn(now time.Time) time.Duration {
	if !w.told || w.failures > 0 {
		return idle
	}
	return w.readAt.Add(lookPause).Sub(now)
}

// rest is how long nothing is due.
func (f *Follow) rest() time.Duration {
	now := f.o.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := idle
	for _, w := range f.pulls {
		switch {
		case w.changed:
			wait = 0
		case !w.next.IsZero():
			wait = min(wait, max(0, w.next.Sub(now)))
		}
		wait = min(wait, max(0, w.lookIn(now)))
	}
	return wait
}

// inspect looks at a pull request and notes when to do it the next time.
func (f *Follow) inspect(ctx context.Context, p Pull) {
	f.mu.Lock()
	w := f.pulls[p.Number]
	if w == nil {
		f.mu.Unlock()
		return
	}
	i := inspection{f: f, p: p, w: w, heard: w.heard, reviews: w.reviews, fresh: w.changed || w.told || w.passed}
	i.reader = feedback.Reader{Client: f.o.Client, Repo: f.repo}
	w.changed, w.told = false, false
	f.mu.Unlock()
	next, err := i.run(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	w.next = next
	switch _, again := transport.Later(err); {
	case err == nil:
		w.failures = 0
	case ctx.Err() != nil:
		w.changed = true
	case !again && !errors.As(err, new(*transport.Terminal)): // it is not there
		f.o.Log.Warn("a pull request is not followed", "pull", p.Number, "err", err)
		w.next = time.Time{}
	default:
		wait, _ := transport.Later(err)
		wait = max(wait, min(firstPause<<min(w.failures, 10), maxPause))
		w.failures++
		f.o.Log.Warn("a pull request is looked at later", "pull", p.Number, "wait", wait.String(), "err", err)
		w.next = f.o.Now().Add(wait)
		w.readAt = time.Time{}
	}
}

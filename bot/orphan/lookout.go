package orphan

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
)

// Options are what a Lookout needs. All of them are set.
type Options struct {
	Desk   claim.Desk
	Own    claim.HostID    // claims of this host are not looked at
	Found  func(issue int) // is told of each orphan, again each half hour
	Failed func(error)     // is told why the claims could not be read
	Now    func() time.Time
}

// Lookout knows the claims of other hosts. It is safe for concurrent use.
type Lookout struct {
	o Options

	mu     sync.Mutex
	claims []claim.Seen // as they were read last
	read   time.Time
	told   map[string]time.Time // when Found was told of a claim, by its commit
}

// New reads nothing.
func New(o Options) *Lookout { return &Lookout{o: o, told: map[string]time.Time{}} }

const (
	// readTime is for how long the claims that were read count. A claim is taken by compare-and-swap,
	// so an old reading costs a push that is refused, and no second start.
	readTime = 2 * time.Second
	// pause is between two looks, queuePause while another host has a request in its queue.
	pause, queuePause = 5 * time.Minute, 2 * time.Minute
	// tellPause is between two times that the same is found: who was told tries until it is settled,
	// unless the issue cannot be worked on now.
	tellPause = 30 * time.Minute
)

// all reads the claims of the repository, not too often.
func (l *Lookout) all(ctx context.Context) ([]claim.Seen, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	if d := now.Sub(l.read); d >= 0 && d < readTime {
		return l.claims, nil
	}
	all, err := l.o.Desk.Look(ctx)
	if err == nil {
		l.claims, l.read = all, now
	}
	return all, err
}

// Holder returns the other host that has claimed an issue; empty if none has, or if that host is
// gone. It may have left a request.
func (l *Lookout) Holder(ctx context.Context, issue int) (host claim.HostID, left *Request, err error) {
	all, err := l.all(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, seen := range all {
		if seen.Issue != issue || seen.Claim.Host == l.o.Own {
			continue
		}
		why, err := l.o.Desk.Stale(ctx, seen)
		switch {
		case err != nil:
			return "", nil, err
		case why == claim.NotStale, why == claim.Waiting: // it is another host's turn
			return seen.Claim.Host, nil, nil
		}
		if q, ok := Of(seen, why); ok {
			left = &q
		}
	}
	return "", left, nil
}

// Look looks for orphans once, and returns when to look again.
func (l *Lookout) Look(ctx context.Context) (next time.Duration) {
	all, err := l.all(ctx)
	if err != nil && ctx.Err() == nil {
		l.o.Failed(err)
	}
	next = pause
	for _, seen := range all {
		if seen.Claim.State != claim.Queued || seen.Claim.Host == l.o.Own {
			continue
		}
		next = queuePause
		why, err := l.o.Desk.Stale(ctx, seen)
		if err != nil {
			l.o.Failed(err)
		} else if _, ok := Of(seen, why); ok && l.tells(seen.ID) {
			l.o.Found(seen.Issue)
		}
	}
	return next
}

// tells reports whether a claim is to be told of, and notes that it was.
func (l *Lookout) tells(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	maps.DeleteFunc(l.told, func(_ string, at time.Time) bool { return now.Sub(at) >= tellPause })
	if _, told := l.told[id]; told {
		return false
	}
	l.told[id] = now
	return true
}

// Run looks until ctx ends, the first time after a while.
func (l *Lookout) Run(ctx context.Context, next time.Duration) {
	for {
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		next = l.Look(ctx)
	}
}

package orphan

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
)

// Options are what a Lookout needs. All of them are set, but Issue and Quiet by a job alone.
type Options struct {
	Desk claim.Desk
	Own  claim.HostID // claims of this host are not looked at
	// Project is the directory of the managed project, whose sessions are the ones of this host. Empty = this host has none.
	Project string
	Issue   int             // of a job, which looks at no other one, and judges it at its start in any case; 0: it is not a job
	Quiet   bool            // nothing is found: a command says what becomes of what was left
	Found   func(issue int) // is told of each request that may be taken, again after a while
	// Room reports whether a request could begin on this host at once.
	Room func(ctx context.Context) bool
	// Saved reports whether a session, by its name in a claim, has a checkpoint on the server. Nil = none has.
	Saved func(ctx context.Context, session string) (bool, error)
	// Divide is told by a job, each time the claims are read, among how many jobs of the repository its requests of an hour
	// are divided. It returns how many are left to each; 0: there is no such limit. Nil = nothing is told.
	Divide func(jobs int) (each int)
	// Ring has a session whose claim was kept looked at, by its name: it can be read again, or is gone.
	Ring func(name string) error
	Now  func() time.Time
	Log  *slog.Logger
}

// Lookout knows the claims of other hosts. It is safe for concurrent use.
type Lookout struct {
	o Options

	mu     sync.Mutex
	claims []claim.Seen // as they were read last
	read   time.Time
	told   map[string]time.Time  // until when Found is not told of a claim again, by its commit
	kept   map[int]*keptRequest  // that this host lost the tickets of, by issue
	unread map[int]unreadSession // by issue
	looked bool                  // once
	shared bool                  // the log says that the requests of an hour are divided
}

// New reads nothing.
func New(o Options) *Lookout {
	return &Lookout{o: o, told: map[string]time.Time{}, kept: map[int]*keptRequest{}, unread: map[int]unreadSession{}}
}

const (
	// readTime is for how long the claims that were read count. A claim is taken by compare-and-swap,
	// so an old reading costs a push that is refused, and no second start.
	readTime = 2 * time.Second
	// pause is between two looks, queuePause while another host has a request in its queue, and
	// roomPause while it could begin here: the claim is taken when it was seen for a minute.
	pause, queuePause, roomPause = 5 * time.Minute, 2 * time.Minute, time.Minute
	// tellPause is between two times that the same is found: who was told tries until it is settled,
	// unless the issue cannot be worked on now. What a live host has in its queue is told of each pause.
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
		l.divide(all)
	}
	return all, err
}

// divide tells among how many jobs the requests of an hour are divided: this one, and each other one that holds a claim.
// One whose run is over counts until its claim is taken: to ask for its run would be a request more.
func (l *Lookout) divide(all []claim.Seen) {
	if _, _, isJob := l.o.Own.Job(); !isJob || l.o.Divide == nil {
		return
	}
	jobs := map[claim.HostID]bool{l.o.Own: true}
	for _, seen := range all {
		if _, _, isJob := seen.Claim.Host.Job(); isJob && seen.Claim.State != claim.Handover {
			jobs[seen.Claim.Host] = true
		}
	}
	if each := l.o.Divide(len(jobs)); each > 0 && len(jobs) > 1 && !l.shared {
		l.shared = true
		l.o.Log.Info("the requests of an hour are divided among the jobs of the repository", "jobs", len(jobs), "each", each)
	}
}

// Holder returns the other host that has claimed an issue, or this one for a session that it cannot read; empty if
// none has, or if that host is gone. left is the request that waits in its queue, if this host may take it.
func (l *Lookout) Holder(ctx context.Context, issue int) (host claim.HostID, left *Request, err error) {
	all, err := l.all(ctx)
	if err != nil {
		return "", nil, err
	}
	if l.Unread(issue) != nil {
		return l.o.Own, nil, nil
	}
	for _, seen := range all {
		if seen.Issue != issue || seen.Claim.Host == l.o.Own {
			continue
		}
		why, err := l.o.Desk.Stale(ctx, seen)
		switch {
		case err != nil:
			return "", nil, err
		case why == claim.NotStale:
			return seen.Claim.Host, nil, nil
		case why == claim.Waiting:
			host = seen.Claim.Host
		}
		q, ok, err := l.of(ctx, seen, why)
		if err != nil {
			return "", nil, err
		}
		if ok && (!q.Live || l.o.Room(ctx)) {
			left = &q
		}
	}
	if host == "" && left == nil {
		left, err = l.mislaid(ctx, issue)
	}
	return host, left, err
}

// Unproven reports whether the host that has claimed an issue may be gone: it was not seen to beat yet, and
// its silence is not long enough.
func (l *Lookout) Unproven(issue int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.claims, func(s claim.Seen) bool { return s.Issue == issue && s.Unproven })
}

// Serves returns the request that another host has claimed an issue for, in the words of its claim; empty if no
// other host has it. That host takes the label off itself, and reads from a missing one that it came too late.
func (l *Lookout) Serves(issue int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.claims, func(s claim.Seen) bool { return s.Issue == issue && s.Claim.Host != l.o.Own })
	if i < 0 {
		return ""
	}
	return l.claims[i].Claim.Trigger
}

// Take claims an issue: one that is free, that of a host that is gone, or the request of another host if left is
// that one. A request whose claim is not there any more was served by its host or by one that took it. The error is
// as that of [claim.Desk.Take].
func (l *Lookout) Take(ctx context.Context, want claim.Want, left *Request) (claim.Held, error) {
	held, err := l.take(ctx, want, left)
	if err == nil {
		// The last reading still shows it as that of the other host.
		l.mu.Lock()
		defer l.mu.Unlock()
		l.claims = slices.DeleteFunc(slices.Clone(l.claims), func(s claim.Seen) bool { return s.Issue == want.Issue })
	}
	return held, err
}

func (l *Lookout) take(ctx context.Context, want claim.Want, left *Request) (claim.Held, error) {
	held, err := l.takeKept(ctx, want)
	if held != nil || err != nil {
		return held, err
	}
	if left != nil && !left.Mislaid {
		want.Only = true
		held, err := l.o.Desk.Steal(ctx, left.Seen, want)
		if err == nil {
			l.o.Log.Info("an issue is taken from another host", "issue", want.Issue, "host", left.Seen.Claim.Host.String(), "live", left.Live)
		}
		return held, err
	}
	held, err = l.o.Desk.Take(ctx, want)
	if err == nil {
		l.drop(want.Issue)
	}
	var taken *claim.TakenError
	if !errors.As(err, &taken) || taken.Seen.Problem != nil {
		return held, err
	}
	why, staleErr := l.o.Desk.Stale(ctx, taken.Seen)
	if staleErr != nil {
		return nil, staleErr
	}
	if why == claim.NotStale || why == claim.Waiting {
		return nil, err
	}
	if held, err = l.o.Desk.Steal(ctx, taken.Seen, want); err == nil {
		l.o.Log.Info("an issue is taken from another host", "issue", want.Issue, "host", taken.Seen.Claim.Host.String(), "why", string(why))
	}
	return held, err
}

// of reads the request of a claim. A session that has begun is one if it can be continued here, also one
// that a host took from another and that waits in its queue.
func (l *Lookout) of(ctx context.Context, seen claim.Seen, why claim.Stale) (q Request, ok bool, err error) {
	begun, parsed := of(seen, why)
	if l.o.Saved != nil && parsed && why != claim.NotStale {
		if begun.Saved, err = l.o.Saved(ctx, seen.Claim.Session); err != nil || begun.Saved {
			begun.Begun = !begun.Live
			return begun, err == nil, err
		}
	}
	if l.o.Issue != 0 {
		q, ok = ForJob(seen, why)
	} else {
		q, ok = Of(seen, why)
	}
	return q, ok, nil
}

// passes reports whether nothing is found by a look at a claim. Whether a job is over costs a request.
func (l *Lookout) passes(seen claim.Seen) bool {
	if l.o.Quiet || l.o.Issue != 0 && seen.Issue != l.o.Issue || seen.Claim.Host == l.o.Own {
		return true
	}
	return l.o.Issue == 0 && seen.Claim.State != claim.Queued && l.o.Saved == nil
}

// Look looks for orphans once, and returns when to look again.
func (l *Lookout) Look(ctx context.Context) (next time.Duration) {
	l.reread()
	all, err := l.all(ctx)
	if err != nil {
		l.failed(ctx, err)
	}
	l.mu.Lock()
	judged := l.o.Issue != 0 && !l.looked // without being told: it would be read twice
	l.looked = true
	l.mu.Unlock()
	all = slices.DeleteFunc(slices.Clone(all), l.passes)
	if len(all) == 0 {
		return pause
	}
	room := l.o.Room(ctx)
	for _, seen := range all {
		why, err := l.o.Desk.Stale(ctx, seen)
		var q Request
		var ok bool
		if err == nil {
			q, ok, err = l.of(ctx, seen, why)
		}
		if err != nil {
			l.failed(ctx, err)
		} else if ok && (room || !q.Live) && l.tells(q) && !judged {
			l.o.Found(seen.Issue)
		}
	}
	if room {
		return roomPause
	}
	return queuePause
}

func (l *Lookout) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		l.o.Log.Warn("the claims of other hosts are read later", "err", err)
	}
}

// tells reports whether a request is to be told of, and notes that it was.
func (l *Lookout) tells(q Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	maps.DeleteFunc(l.told, func(_ string, until time.Time) bool { return !now.Before(until) })
	if _, told := l.told[q.Seen.ID]; told {
		return false
	}
	l.told[q.Seen.ID] = now.Add(tellPause)
	if q.Live {
		l.told[q.Seen.ID] = now.Add(pause)
	}
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

package claim

import (
	"context"
	"fmt"
	"time"
)

// Stale is described at Desk. It judges by what this desk has seen when it looked; only for a job
// it asks for its run.
func (d *Remote) Stale(ctx context.Context, seen Seen) (Stale, error) {
	d.mu.Lock()
	now, there := d.list.seen(seen.Issue)
	beats, waited := d.sights.hosts[now.Claim.Host], d.sights.claims[seen.Issue]
	d.mu.Unlock()
	c := now.Claim
	switch {
	case !there || now.ID != seen.ID || now.Problem != nil:
		return NotStale, nil
	case c.State == Handover:
		return LetGo, nil
	case c.Host == d.o.Host: // see Leftovers
		return NotStale, nil
	}
	var unknown error
	if run, attempt, isJob := c.Host.Job(); isJob {
		ended, err := d.o.runEnded(ctx, run, attempt)
		if ended {
			return RunEnded, nil
		}
		unknown = err
	} else if beats.length() >= silentAfter {
		return Silent, nil
	}
	if c.State == Queued && waited.length() >= waitedAfter {
		return Waiting, nil
	}
	return NotStale, unknown
}

// Silence is for how long this desk has seen no beat of the host of a claim; 0 for a job, which
// has none.
func (d *Remote) Silence(seen Seen) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sights.hosts[seen.Claim.Host].length()
}

// SilentAfter is how long a host is silent until its claims may be taken.
const SilentAfter = silentAfter

// runEnded reports whether the run of a job is over, was deleted, or is at a later attempt.
func (o Options) runEnded(ctx context.Context, run int64, attempt int) (bool, error) {
	if o.ReadRun == nil {
		return false, fmt.Errorf("run %d cannot be read", run)
	}
	state, err := o.ReadRun(ctx, run)
	if err != nil {
		return false, fmt.Errorf("read run %d: %w", run, err)
	}
	return state.Gone || state.Completed || state.Attempt > attempt, nil
}

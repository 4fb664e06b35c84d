package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// jumpLimit is by how much the clock may be off before it counts as set: it is corrected by
// less all the time.
const jumpLimit = 10 * time.Second

// clock notices when the time of day goes another way than time itself: the machine slept,
// or somebody set it.
type clock struct {
	began time.Time     // with a monotonic reading
	day   time.Time     // at the last look
	since time.Duration // began, at the last look
}

func newClock(now time.Time) clock { return clock{began: time.Now(), day: now.Round(0)} }

// jump returns by how much the time of day is off since the last look, 0 for hardly.
func (c *clock) jump(now time.Time) time.Duration {
	since := time.Since(c.began)
	off := now.Round(0).Sub(c.day) - (since - c.since)
	c.day, c.since = now.Round(0), since
	if off.Abs() < jumpLimit {
		return 0
	}
	return off
}

// jumps moves what the state holds of moments when the clock was set.
func (l *loop) jumps(ctx context.Context) error {
	off := l.clock.jump(l.Now())
	if off == 0 {
		return nil
	}
	l.scanned, l.looks.at, l.logged = time.Time{}, time.Time{}, time.Time{}
	l.Log.Warn("the clock jumped, or the machine slept: that time does not count", slog.String("by", off.Round(time.Second).String()))
	_, err := l.apply(ctx, orchestrator.Input{Kind: orchestrator.InJump, Jump: orchestrator.Duration(off)})
	return err
}

// setBack moves a state that is of a later time than now: nothing in it would come due.
func (l *loop) setBack(ctx context.Context) error {
	updated, err := time.Parse(time.RFC3339, l.st.UpdatedAt)
	off := l.Now().Sub(updated)
	if err != nil || l.st.IsClassic() || off > -jumpLimit {
		return nil
	}
	_, err = l.apply(ctx, orchestrator.Input{Kind: orchestrator.InJump, Jump: orchestrator.Duration(off)})
	return err
}

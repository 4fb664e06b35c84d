package bot

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
)

// The list of pull requests has times in whole seconds: a review of the second in which the others were
// read changes nothing in it. The reviews are read until a reading came well after that second, and one
// that another reason led to sooner does not end that.
func TestReviewsAreReadUntilTheSecondOfTheirChangeIsOver(t *testing.T) {
	s := newSessions()
	now := time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)
	p := ghsync.OpenPull{Number: 7, UpdatedAt: now}
	for _, step := range []struct {
		after, want time.Duration
	}{{0, settlePause}, {time.Millisecond, settlePause - time.Millisecond}, {settlePause, 0}, {settlePause + time.Minute, 0}} {
		if got := s.unsettled(p, now.Add(step.after)); got != step.want {
			t.Errorf("%s after the first reading: once more in %s, want %s", step.after, got, step.want)
		}
	}
	p.UpdatedAt = now.Add(time.Minute)
	if got := s.unsettled(p, now.Add(time.Hour)); got != settlePause {
		t.Errorf("after the next change: once more in %s", got)
	}
}

package due_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/due"
)

// The list of pull requests has times in whole seconds: a review of the second in which the others were
// read changes nothing in it. The reviews are read until a reading came well after that second, and one
// that another reason led to sooner does not end that.
func TestReviewsAreReadUntilTheSecondOfTheirChangeIsOver(t *testing.T) {
	var s due.Settling
	now := time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)
	changed := now
	for _, step := range []struct {
		after, want time.Duration
	}{{0, due.Settle}, {time.Millisecond, due.Settle - time.Millisecond}, {due.Settle, 0}, {due.Settle + time.Minute, 0}} {
		if got := s.Again(7, changed, now.Add(step.after)); got != step.want {
			t.Errorf("%s after the first reading: once more in %s, want %s", step.after, got, step.want)
		}
	}
	changed = now.Add(time.Minute)
	if got := s.Again(7, changed, now.Add(time.Hour)); got != due.Settle {
		t.Errorf("after the next change: once more in %s", got)
	}
}

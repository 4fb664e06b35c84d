package due_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/due"
)

// The list of pull requests has times in whole seconds: a review of the second in which the others were
// read changes nothing in it. And the list of reviews may be behind it. The reviews are read until a
// reading came well after that, and one that another reason led to sooner does not end that.
func TestReviewsAreReadUntilTheyAreShown(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)
	for brief, steps := range map[bool][]struct{ after, want time.Duration }{
		false: {
			{0, due.Settle}, {time.Millisecond, due.Settle - time.Millisecond}, {due.Settle, 13 * time.Second}, {14 * time.Second, time.Second},
			{15 * time.Second, 50 * time.Second}, {65 * time.Second, 0}, {time.Hour, 0},
		},
		true: {{0, due.Settle}, {time.Millisecond, due.Settle - time.Millisecond}, {due.Settle, 0}, {time.Hour, 0}},
	} {
		var s due.Settling
		changed := now
		for _, step := range steps {
			if got := s.Again(7, changed, now.Add(step.after), brief); got != step.want {
				t.Errorf("brief %v: %s after the first reading: once more in %s, want %s", brief, step.after, got, step.want)
			}
		}
		changed = now.Add(time.Minute)
		if got := s.Again(7, changed, now.Add(2*time.Hour), brief); got != due.Settle {
			t.Errorf("brief %v: after the next change: once more in %s", brief, got)
		}
	}
}

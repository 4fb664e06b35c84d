package pace_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/pace"
)

var start = time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)

// last is when the last of n may be used that are taken one after another from start on.
func last(l *pace.Limiter, n int) time.Duration {
	now := start
	for range n {
		now = now.Add(l.Take(now))
	}
	return now.Sub(start).Round(time.Second)
}

// What rested lets a quarter through at once, and all else at its rate; a part of it is that part of both.
func TestAPartOfARateIsThatPart(t *testing.T) {
	for _, c := range []struct {
		parts []int
		each  int
		want  time.Duration // of the last of 60
	}{
		{nil, 600, 0},
		{[]int{10}, 60, 45 * time.Minute},
		{[]int{600}, 1, 59 * time.Hour},
		{[]int{100000}, 1, 59 * time.Hour},
		{[]int{10, 10, 10}, 60, 45 * time.Minute},
		{[]int{10, 20}, 30, 106 * time.Minute},
		{[]int{0}, 600, 0},
	} {
		l, each := pace.Per(600, time.Hour), 600
		for _, parts := range c.parts {
			each = l.Divide(parts)
		}
		if took := last(l, 60); each != c.each || took != c.want {
			t.Errorf("%v: %d each, 60 take %s, want %d and %s", c.parts, each, took, c.each, c.want)
		}
	}
}

// A part that grows again lets no more through than its rate.
func TestARateGrowsWithoutABurst(t *testing.T) {
	l := pace.Per(600, time.Hour)
	l.Divide(100)
	l.Take(start)
	if l.Divide(1); last(l, 10) < 50*time.Second {
		t.Errorf("10 took %s", last(l, 10))
	}
}

// What is given back may be taken at once, and Until says what Take would.
func TestWhatIsGivenBackIsThere(t *testing.T) {
	l := pace.Per(4, time.Hour)
	l.Take(start)
	if wait := l.Until(start, 1); wait != 15*time.Minute {
		t.Errorf("waits %s", wait)
	}
	if l.GiveBack(start); l.Until(start, 1) != 0 || l.Take(start) != 0 {
		t.Error("what was given back is not there")
	}
	if free := pace.Every(-1); last(free, 100) != 0 || free.Until(start, 50) != 0 {
		t.Error("a limiter without a limit waits")
	}
	if reads := pace.PerSecond(5, 10); reads.Burst() != 10 || last(reads, 20) != 2*time.Second {
		t.Errorf("burst %d, 20 more take %s", reads.Burst(), last(reads, 20))
	}
}

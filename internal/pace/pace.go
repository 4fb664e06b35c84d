// Package pace lets things happen at a rate: so many in a time on average, and some at once after a rest. It
// does not wait, but says for how long. It has no goroutine and stores nothing.
package pace

import (
	"time"

	"golang.org/x/time/rate"
)

// Limiter is a rate and what was taken of it. It is safe for concurrent use.
type Limiter struct {
	rate *rate.Limiter
	n    int // in d, if Per made it
	d    time.Duration
}

// Per allows n in d on average. A limiter that has rested lets a quarter more through in
// its first d, which is what GitHub's limits leave above ours.
func Per(n int, d time.Duration) *Limiter {
	return &Limiter{rate.NewLimiter(rate.Every(d/time.Duration(n)), burst(n)), n, d}
}

func burst(n int) int { return max(1, n/4) }

// PerSecond allows r a second on average, and burst of them at once.
func PerSecond(r float64, burst int) *Limiter {
	return &Limiter{rate: rate.NewLimiter(rate.Limit(r), burst)}
}

// Every allows one in d; any number where d is not above 0.
func Every(d time.Duration) *Limiter { return &Limiter{rate: rate.NewLimiter(rate.Every(d), 1)} }

// Divide leaves one of some equal parts of what Per allowed, at least one in its time, and returns how many that
// are. What was taken stays taken.
func (l *Limiter) Divide(parts int) (each int) {
	each = max(1, l.n/max(1, parts))
	l.rate.SetLimit(rate.Every(l.d / time.Duration(each)))
	l.rate.SetBurst(burst(each))
	return each
}

// Take takes one and returns how long to wait before it may be used.
func (l *Limiter) Take(now time.Time) time.Duration { return l.rate.ReserveN(now, 1).DelayFrom(now) }

// GiveBack returns one that is not used, unlike the end of a reservation also where its moment is over.
func (l *Limiter) GiveBack(now time.Time) { l.rate.AllowN(now, -1) }

// Until is how long n more would have to wait.
func (l *Limiter) Until(now time.Time, n float64) time.Duration {
	missing := n - l.rate.TokensAt(now)
	if missing <= 0 || l.rate.Limit() == rate.Inf {
		return 0
	}
	return time.Duration(missing / float64(l.rate.Limit()) * float64(time.Second))
}

// Burst is how many may happen at once after a rest.
func (l *Limiter) Burst() int { return l.rate.Burst() }

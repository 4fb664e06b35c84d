package claim

import "time"

// Clock tells the time in two ways that differ where a machine was suspended or its clock set.
// A field that is nil is the one of this machine.
type Clock struct {
	// Now is the wall clock. It may jump, and passes while the machine is suspended.
	Now func() time.Time
	// Running never jumps and may not pass while the machine is suspended.
	Running func() time.Duration
	// After is time.After by this clock.
	After func(time.Duration) <-chan time.Time
}

// whole fills what is nil.
func (c Clock) whole() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Running == nil {
		start := time.Now()
		c.Running = func() time.Duration { return time.Since(start) }
	}
	if c.After == nil {
		c.After = time.After
	}
	return c
}

// An instant is a moment by both clocks. The zero instant was very long ago.
type instant struct {
	wall    time.Time
	running time.Duration
}

func (c Clock) instant() instant {
	return instant{wall: c.Now().Round(0), running: c.Running()}
}

// until is how long it was from i to later, by the clock that shows more.
func (i instant) until(later instant) time.Duration {
	return max(later.wall.Sub(i.wall), later.running-i.running)
}

// age is how long ago i was, by the clock that shows more.
func (c Clock) age(i instant) time.Duration { return i.until(c.instant()) }

package intake

import "time"

// Clock tells the time. A field that is nil is the one of this machine. Like those of time.Now the
// times of Now have a monotonic reading, or a clock that is set back stops the polling for as long.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// whole fills what is nil.
func (c Clock) whole() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	return c
}

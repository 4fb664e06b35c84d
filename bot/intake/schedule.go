package intake

import "time"

// part is one of what a poller reads.
type part int

const (
	issues part = iota
	comments
	pulls
	everything // the full sync

	parts
)

const (
	// hookGap is how far apart readings for hooks begin at least, and within which time one is served.
	hookGap = time.Second
	// firstPause doubles with each error up to maxPause, which bounds how late the first reading
	// after an outage is, or up to maxRefused where time alone mends nothing.
	firstPause = 5 * time.Second
	maxPause   = time.Minute
	maxRefused = 15 * time.Minute
)

// repeats is how long after a hook the lists are read again, the first time if they showed nothing new.
var repeats = [...]time.Duration{2 * time.Second, 10 * time.Second}

// schedule is when a poller reads what. It has no clock.
type schedule struct {
	due    [parts]time.Time
	hold   [parts]time.Time // after an error it is not read before
	failed [parts]int       // in a row
	off    [parts]bool      // not read at present
	began  time.Time        // the last reading
	repeat []time.Time      // readings after a hook, the first one first
	urgent bool             // a hook waits for the next reading
}

// next is when there is something to read.
func (s *schedule) next() time.Time {
	var first time.Time
	for p := range parts {
		if at := latest(s.due[p], s.hold[p]); !s.off[p] && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if len(s.repeat) > 0 && s.repeat[0].Before(first) {
		return s.repeat[0]
	}
	return first
}

// hook lets the lists be read soon, and again if that shows nothing new.
func (s *schedule) hook(now time.Time) {
	first := latest(now, s.began.Add(hookGap))
	s.bring(first)
	s.repeat, s.urgent = s.repeat[:0], true
	for _, d := range repeats {
		s.repeat = append(s.repeat, now.Add(d))
	}
}

// bring lets the lists be read at t at the latest.
func (s *schedule) bring(t time.Time) {
	for _, p := range []part{issues, comments, pulls} {
		if t.Before(s.due[p]) {
			s.due[p] = t
		}
	}
}

// ripen makes the lists due for the repeated readings up to now.
func (s *schedule) ripen(now time.Time) {
	for len(s.repeat) > 0 && !s.repeat[0].After(now) {
		s.repeat, s.urgent = s.repeat[1:], true
		s.bring(now)
	}
}

// isDue reports whether a part is read at t.
func (s *schedule) isDue(p part, t time.Time) bool {
	return !s.off[p] && !s.due[p].After(t) && !s.hold[p].After(t)
}

// urgency is that of a reading at t. The full sync waits while a list is due.
func (s *schedule) urgency(t time.Time) Urgency {
	lists := s.isDue(issues, t) || s.isDue(comments, t) || s.isDue(pulls, t)
	switch {
	case lists && s.urgent:
		return Woken
	case lists:
		return Regular
	}
	return Full
}

// worked notes that a part was read without an error.
func (s *schedule) worked(p part) { s.failed[p], s.hold[p] = 0, time.Time{} }

// done lets a part be read again after a time.
func (s *schedule) done(p part, every time.Duration) {
	s.due[p] = s.began.Add(max(every, MinInterval))
}

// served ends what a hook asked for, unless the lists have to be read again for it. What was found
// may be older than the hook, of a replica that lags: the last of the repeated readings remains.
func (s *schedule) served(found bool) {
	if s.urgent = false; found && len(s.repeat) > 1 {
		s.repeat = s.repeat[len(s.repeat)-1:]
	}
}

// fail lets a part not be read for wait, and longer with each failure in a row up to most.
func (s *schedule) fail(p part, now time.Time, wait, most time.Duration, spread float64) {
	pause := min(firstPause<<min(s.failed[p], 16), most)
	s.failed[p]++
	s.hold[p] = now.Add(max(wait, time.Duration(float64(pause)*spread)))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

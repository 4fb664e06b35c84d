package decide

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// counted are the deadlines that bound the work of agents. They do not move while
// agents only wait for something that is not theirs to do.
var counted = map[string]bool{"phase": true, "total": true, "review": true, "summary": true}

// StandsStill reports whether the limits do not count now: a gate is open, or
// every agent at work waits for an answer, for research or for its provider. A
// pause is no such wait: it moves all deadlines when it ends.
func StandsStill(def *workflows.Definition, s *orchestrator.State) bool {
	if s.Paused || s.Ended() {
		return false
	}
	if s.Gate != nil {
		return true
	}
	waiting := 0
	for _, o := range Owed(def, s) {
		if isResearcher(o.Role) {
			continue
		}
		if !idles(s, o.Key()) {
			return false
		}
		waiting++
	}
	return waiting > 0
}

func idles(s *orchestrator.State, key string) bool {
	a := s.Agents[key]
	return a.Waiting != "" || a.Limited || hostQuestion(s, key) != nil
}

// keepTime notes when the limits begin to stand still, and moves them by the span
// when they count again.
func (r *reducer) keepTime() {
	still := StandsStill(r.def, r.s)
	switch {
	case still && r.s.StillSince.IsZero():
		r.s.StillSince = r.now
	case !still && !r.s.StillSince.IsZero():
		span := r.now.Sub(r.s.StillSince.Time)
		for name, at := range r.s.Deadlines {
			if counted[name] {
				r.s.Deadlines[name] = at.Later(span)
			}
		}
		r.s.StillSince = orchestrator.Time{}
	}
}

// deadline arms a timer; a span of 0 or less means that the limit is off. What is
// armed while time does not count is moved with the rest when it does again.
func (r *reducer) deadline(name string, span orchestrator.Duration) {
	if span <= 0 {
		r.disarm(name)
		return
	}
	from := r.now
	switch {
	case r.s.Paused:
		from = r.s.Counters["pause"].Since
	case counted[name] && !r.s.StillSince.IsZero():
		from = r.s.StillSince
	}
	r.s.Deadlines[name] = from.Later(span.D())
	r.changed = true
}

func (r *reducer) disarm(names ...string) {
	for _, name := range names {
		if _, ok := r.s.Deadlines[name]; ok {
			delete(r.s.Deadlines, name)
			r.changed = true
		}
	}
}

func (r *reducer) disarmPrefix(prefix string) {
	for name := range r.s.Deadlines {
		if strings.HasPrefix(name, prefix) {
			r.disarm(name)
		}
	}
}

// shiftDeadlines moves every deadline by a span that does not count.
func (r *reducer) shiftDeadlines(span time.Duration) {
	for name, at := range r.s.Deadlines {
		r.s.Deadlines[name] = at.Later(span)
	}
	r.changed = true
}

// limit ends an unattended run that takes too long. In an interactive one it is
// only noted.
func (r *reducer) limit(name string) {
	span := r.s.Settings.LimitPhase
	if name == "total" {
		span = r.s.Settings.LimitTotal
	}
	if phase, ok := r.phase(); ok && name == "phase" {
		span = r.phaseLimit(phase)
	}
	r.event(orchestrator.LimitReachedRecord{Limit: name, Seconds: int(span.D().Seconds())})
	if r.s.Interactive {
		return
	}
	r.fail("limits." + name + " of " + span.D().String() + " passed")
}

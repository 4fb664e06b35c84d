// Package pause keeps what a pause holds up, and for how long. A host that saves a paused session for others, or hands it
// over, takes what agents handed in, because the next host cannot tell who wrote their lines; the step to the next
// phase that follows from it waits in the state for the end of the pause, on whichever machine that is. It is pure.
package pause

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

const counter = "pause"

// Checkpoint is the deadline that a pause does not move: the agents at work finish their turns, and that work is saved.
const Checkpoint = "checkpoint"

// Begin pauses a session.
func Begin(s *orchestrator.State, now orchestrator.Time) {
	s.Paused = true
	s.Counters[counter] = orchestrator.Counter{N: 1, Since: now}
}

// Since returns when a pause began.
func Since(s *orchestrator.State) orchestrator.Time { return s.Counters[counter].Since }

// End ends a pause: no deadline, silence of an agent or wait for a provider counts its time.
func End(s *orchestrator.State, now orchestrator.Time) {
	span := time.Duration(0)
	if since := Since(s); !since.IsZero() {
		span = now.Sub(since.Time)
	}
	s.Paused = false
	delete(s.Counters, counter)
	for name, at := range s.Deadlines {
		if name != Checkpoint {
			s.Deadlines[name] = at.Later(span)
		}
	}
	for key, a := range s.Agents {
		a.Heard, a.LimitedSince = now, a.LimitedSince.Later(span)
		s.Agents[key] = a
	}
}

// Restart drops the counters of a session that starts again, and its pause unless another machine brought it here
// and no person asked for the start. The deadlines of one that stays paused begin with the start, and so does its pause.
func Restart(s *orchestrator.State, start *orchestrator.Start, now orchestrator.Time) {
	stays := s.Paused && start != nil && start.Moved != nil
	s.Paused, s.Counters = false, map[string]orchestrator.Counter{}
	if stays {
		Begin(s, now)
	}
}

// Holds keeps the step out of the phase for the end of the pause; false: the session is not paused.
func Holds(s *orchestrator.State, outcome, reason string) bool {
	if s.Paused {
		s.Held = orchestrator.Held{Outcome: outcome, Reason: reason}
	}
	return s.Paused
}

// Release returns the step that a pause has held up, once.
func Release(s *orchestrator.State) (h orchestrator.Held, ok bool) {
	h, s.Held = s.Held, orchestrator.Held{}
	return h, h != orchestrator.Held{}
}

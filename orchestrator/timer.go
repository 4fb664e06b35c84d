package orchestrator

import (
	"strings"

	"github.com/agentmux/agentmux/workflows"
)

// timers handle the deadlines of fixed names.
var timers = map[string]func(*reducer){
	"phase":   func(r *reducer) { r.limit("phase") },
	"total":   func(r *reducer) { r.limit("total") },
	"review":  (*reducer).reviewDeadline,
	"summary": (*reducer).summaryDeadline,
	"gate":    (*reducer).gateDeadline,
}

// namedTimers handle the deadlines of one thing each; the rest of the name says which.
var namedTimers = map[string]func(*reducer, string){
	"question/": (*reducer).questionTimeout,
	"relaunch/": (*reducer).relaunch,
	"message/":  (*reducer).redeliver,
}

// timer handles a deadline that passed. While the session is paused nothing is
// due: the pause moves every deadline when it ends.
func (r *reducer) timer() {
	at, armed := r.s.Deadlines[r.in.Timer]
	if !armed || at.After(r.in.At) || r.s.Paused || r.s.Ended() {
		return
	}
	if r.uncounted(r.in.Timer) {
		return
	}
	delete(r.s.Deadlines, r.in.Timer)
	r.changed = true
	if handle, ok := timers[r.in.Timer]; ok {
		handle(r)
		return
	}
	for prefix, handle := range namedTimers {
		if name, ok := strings.CutPrefix(r.in.Timer, prefix); ok {
			handle(r, name)
			return
		}
	}
}

// uncounted reports whether a limit stands still: an open gate, or agents that
// only wait. The span is added when the wait ends.
func (r *reducer) uncounted(name string) bool {
	if name != "phase" && name != "total" {
		return false
	}
	return StandsStill(r.def, r.s)
}

// StandsStill reports whether the limits of phase and session do not count now.
func StandsStill(def *workflows.Definition, s *State) bool {
	if s.Paused || s.Gate != nil {
		return true
	}
	owed := Owed(def, s)
	for _, o := range owed {
		if s.Agents[o.Key()].Waiting == "" {
			return false
		}
	}
	return len(owed) > 0
}

func (r *reducer) limit(name string) {
	span := r.s.Settings.LimitPhase
	if name == "total" {
		span = r.s.Settings.LimitTotal
	}
	r.event(EvLimitReached, map[string]any{"limit": name, "seconds": int(span.D().Seconds())})
	if r.s.Interactive {
		return
	}
	r.fail("limits." + name + " of " + span.D().String() + " passed")
}

func (r *reducer) summaryDeadline() {
	if !r.s.AwaitingSummary {
		return
	}
	r.stop(reviewRoles(r.def, r.s)[0])
	r.leaveReview()
}

func (r *reducer) gateDeadline() {
	if r.s.Gate != nil {
		r.park(ReasonGateTimeout, "the "+r.s.Gate.Name+" gate was not answered in time", "approve or say what to change, then resume")
	}
}

// relaunch starts a lost agent again once its pause is over.
func (r *reducer) relaunch(key string) {
	if o, ok := owedAgent(r.def, r.s, key); ok && r.s.Agents[key].Launch == "" {
		r.launch(o, true)
	}
}

package decide

import (
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// timers handle the deadlines of fixed names.
var timers = map[string]func(*reducer){
	"phase":   func(r *reducer) { r.limit("phase") },
	"total":   func(r *reducer) { r.limit("total") },
	"review":  (*reducer).reviewDeadline,
	"summary": (*reducer).summaryDeadline,
	"gate":    (*reducer).gateDeadline,
	"owed":    func(r *reducer) { r.goOnWith(nil, true) },
}

// namedTimers handle the deadlines of one thing each; the rest of the name says which.
var namedTimers = map[string]func(*reducer, string){
	"question/": (*reducer).questionTimeout,
	"relaunch/": (*reducer).relaunch,
	"message/":  (*reducer).redeliver,
	"ack/":      (*reducer).notAcked,
	"expire/":   (*reducer).expire,
}

// timer handles a deadline that passed. While the session is paused nothing is
// due: the pause moves every deadline when it ends.
func (r *reducer) timer() {
	at, armed := r.s.Deadlines[r.in.Timer]
	if !armed || at.After(r.in.At) || r.s.Paused || r.s.Ended() {
		return
	}
	if counted[r.in.Timer] && StandsStill(r.def, r.s) {
		return // the span is added when the wait ends
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

func (r *reducer) summaryDeadline() {
	if !r.s.AwaitingSummary {
		return
	}
	r.stop(reviewRoles(r.def, r.s)[0])
	r.leaveReview()
}

func (r *reducer) gateDeadline() {
	if r.s.Gate != nil {
		r.park(orchestrator.ReasonGateTimeout, "the "+r.s.Gate.Name+" gate was not answered in time", "approve or say what to change, then resume")
	}
}

// relaunch starts a lost agent again once its pause is over, the first time with
// the program's own session.
func (r *reducer) relaunch(key string) {
	if o, ok := owedAgent(r.def, r.s, key); ok && r.s.Agents[key].Launch == "" {
		r.launch(o, r.s.Agents[key].Retries <= 1)
	}
}

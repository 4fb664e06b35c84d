package decide

import (
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
)

// timers handle the deadlines of fixed names.
var timers = map[string]func(*reducer){
	"phase":         func(r *reducer) { r.outcome.limit("phase") },
	"total":         func(r *reducer) { r.outcome.limit("total") },
	"review":        (*reducer).reviewDeadline,
	"summary":       (*reducer).summaryDeadline,
	"gate":          func(r *reducer) { r.outcome.unanswered() },
	parkTimer:       func(r *reducer) { r.outcome.unanswered() },
	"owed":          func(r *reducer) { r.goOnWith(nil, true) },
	CheckpointTimer: func(r *reducer) { r.saving.soon() },
}

// namedTimers handle the deadlines of one thing each; the rest of the name says which.
var namedTimers = map[string]func(*reducer, string){
	"question/":                 (*reducer).questionTimeout,
	orchestrator.RelaunchTimers: func(r *reducer, key string) { r.crew.relaunch(orchestrator.AgentKey(key)) },
	post.RetryTimers:            func(r *reducer, seq string) { r.mail.Redeliver(seq) },
	post.AckTimers:              func(r *reducer, seq string) { r.mail.NotAcked(seq) },
	post.AskTimers:              unanswered,
	post.ExpiryTimers:           func(r *reducer, seq string) { r.mail.Expire(seq) },
}

// timer handles a deadline that passed. While the session is paused nothing is
// due but a checkpoint: the pause moves every other deadline when it ends.
func (r *reducer) timer() {
	at, armed := r.s.Deadlines[r.in.Timer]
	if !armed || at.After(r.in.At) || r.s.Paused && r.in.Timer != CheckpointTimer || r.s.Ended() {
		return
	}
	if counted[r.in.Timer] && duty.StandsStill(r.def, r.s) {
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
	r.crew.stop(orchestrator.AgentKey(duty.ReviewRoles(r.def, r.s)[0]))
	r.leaveReview()
}

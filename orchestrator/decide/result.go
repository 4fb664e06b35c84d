package decide

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/retry"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/team"
)

// results handle what a finished effect found; effects that are not named need
// nothing but the removal of their record.
var results = map[string]func(*reducer, orchestrator.Effect, orchestrator.Result){
	orchestrator.EffStartAgent:      func(r *reducer, e orchestrator.Effect, res orchestrator.Result) { r.crew.started(e, res) },
	orchestrator.EffStopAgent:       func(r *reducer, e orchestrator.Effect, res orchestrator.Result) { r.crew.stopped(e, res) },
	orchestrator.EffEnsureWorkspace: func(r *reducer, e orchestrator.Effect, res orchestrator.Result) { r.workspaces.made(e, res) },
	orchestrator.EffIntegrate:       (*reducer).integrated,
	orchestrator.EffKeepLate:        func(r *reducer, e orchestrator.Effect, res orchestrator.Result) { r.crew.keptLate(e, res) },
	orchestrator.EffPreserve:        func(r *reducer, e orchestrator.Effect, res orchestrator.Result) { r.workspaces.preserved(e, res) },
	orchestrator.EffDeliver:         delivered,
	orchestrator.EffAnswerDialog:    dialogAnswered,
	orchestrator.EffInspect: func(r *reducer, e orchestrator.Effect, res orchestrator.Result) {
		r.completion.inspected(e.Args.Tree, res)
	},
	orchestrator.EffCommit:         (*reducer).committed,
	orchestrator.EffPush:           (*reducer).pushed,
	orchestrator.EffPR:             func(r *reducer, _ orchestrator.Effect, res orchestrator.Result) { r.completion.opened(res) },
	orchestrator.EffLastCompletion: func(r *reducer, _ orchestrator.Effect, _ orchestrator.Result) { r.completion.completed() },
	orchestrator.EffAdopt:          func(r *reducer, _ orchestrator.Effect, res orchestrator.Result) { r.crew.adopted(res) },
	orchestrator.EffCheckpoint: func(r *reducer, _ orchestrator.Effect, res orchestrator.Result) {
		r.saving.late(res.Skipped != "")
		if res.Path != "" {
			r.s.Stays = res.Refused
			r.event(orchestrator.CheckpointSavedRecord{Ref: res.Path, SHA: res.Commit, LeftOut: res.Findings, Pushed: res.Pushed, Stays: res.Refused})
		}
	},
}

// effectDone takes a result. A result of an effect that was dropped meanwhile
// serves no agent and is only noted.
func (r *reducer) effectDone() {
	e, ok := r.take(r.in.Effect.ID)
	if !ok {
		r.unwanted()
		return
	}
	if r.team.atWork() && team.IsStep(e) {
		r.team.happens(e.Args.Task, team.StepDone, team.Evidence{Result: r.in.Effect.Result})
		return
	}
	if handle, ok := results[e.Type]; ok {
		handle(r, e, r.in.Effect.Result)
	}
}

func (r *reducer) unwanted() {
	r.ignore(duty.Call{Tool: r.in.Kind}, "effect "+r.in.Effect.ID+" is not pending")
}

// effectFailed notes a failed try, plans the next, or gives up.
func (r *reducer) effectFailed() {
	o := r.in.Effect
	i := slices.IndexFunc(r.s.Pending, func(e orchestrator.Effect) bool { return e.ID == o.ID })
	if i < 0 {
		r.unwanted()
		return
	}
	e := &r.s.Pending[i]
	if o.Class == orchestrator.FailCooling {
		r.crew.cools(e, o)
		return
	}
	e.Attempt++
	if e.Since.IsZero() || o.Class == orchestrator.FailAway { // the limit is for what follows
		e.Since = r.now
	}
	pause, final := retry.Next(*e, o, r.now.Time, &r.s.Settings)
	if !final {
		e.NotBefore = r.now.Later(pause)
	}
	if r.changed = true; retry.Told(*e, o, final) {
		r.event(orchestrator.EffectFailedRecord{ID: e.ID, Effect: e.Type, Error: o.Error, Attempt: e.Attempt, Final: final})
	}
	if final {
		r.giveUp(o.ID, o.Error)
	}
}

// giveUp removes an effect that will never be true, and what waited for it.
func (r *reducer) giveUp(id, cause string) {
	waiting := r.pending(func(e orchestrator.Effect) bool { return slices.Contains(e.After, id) })
	failed, ok := r.take(id)
	if !ok {
		return
	}
	r.crew.left(failed.Args.Launch)
	r.gaveUp(failed, cause)
	for _, dependant := range waiting {
		why := "what it needs failed: " + cause
		if i := slices.IndexFunc(r.s.Pending, func(e orchestrator.Effect) bool { return e.ID == dependant }); i >= 0 {
			e := r.s.Pending[i]
			r.event(orchestrator.EffectFailedRecord{ID: e.ID, Effect: e.Type, Error: why, Attempt: e.Attempt, Final: true})
		}
		r.giveUp(dependant, why)
	}
}

// gaveUp decides what a final failure means.
func (r *reducer) gaveUp(e orchestrator.Effect, cause string) {
	if r.s.Ended() || r.team.gaveUp(e, cause) {
		return
	}
	switch e.Type {
	case orchestrator.EffStopAgent, orchestrator.EffRemoveWorkspace, orchestrator.EffCheckpoint, orchestrator.EffPreserve, orchestrator.EffKeepLate,
		orchestrator.EffOrphan:
		return // recorded; nothing depends on it that a person cannot see
	case orchestrator.EffStartAgent:
		switch key := orchestrator.KeyOf(e.Args.Role, e.Args.Task); {
		case r.s.Agents[key].Launch != e.Args.Launch: // it has done its work already
		case duty.Researches(key.Role()):
			r.research.failed(key, cause)
		default:
			r.outcome.fail(e.Type + ": " + cause)
		}
	case orchestrator.EffAnswerDialog:
		dialogAnswered(r, e, orchestrator.Result{})
	case orchestrator.EffDeliver:
		r.mail.Undeliverable(e.Args.Seq, cause)
	case orchestrator.EffAdopt:
		r.crew.launchOwed() // the push meets these commits again
	case orchestrator.EffInspect:
		// What the gate does not show is not approved by it, nor by an approval of what another machine showed.
		r.s.Completion.Compare = ""
		r.completion.inspected(e.Args.Tree, orchestrator.Result{})
	case orchestrator.EffCommit:
		r.outcome.park(orchestrator.ReasonCommitRefused, cause, "resume to try again")
	case orchestrator.EffPush:
		r.outcome.park(orchestrator.ReasonPushRejected, cause, "resume to push again")
	case orchestrator.EffPR:
		r.outcome.park(orchestrator.ReasonPRRefused, cause, "resume to try again")
	case orchestrator.EffLastCompletion:
		r.completion.completed()
	default:
		r.outcome.fail(e.Type + ": " + cause)
	}
}

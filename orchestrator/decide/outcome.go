package decide

import (
	"maps"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/post"
)

// outcome ends a run, or parks it until a person resumes it.
type outcome struct {
	*queue
	clock      *clock
	crew       *crew
	mail       *post.Office
	workspaces *workspaces
}

// end sets the outcome: effects that are no longer wanted go, agents stop.
func (o *outcome) end(outcome, reason string) {
	o.s.Outcome, o.s.OutcomeReason = orchestrator.Optional(outcome), orchestrator.Optional(reason)
	o.dropPending(func(e orchestrator.Effect) bool { return !keptAtEnd[e.Type] && e.Type != orchestrator.EffStopAgent })
	for _, key := range slices.Sorted(maps.Keys(o.s.Agents)) {
		o.crew.stopWaiting(key) // its answer may come later, when the session continues
	}
	o.s.Deadlines, o.s.StillSince = map[string]orchestrator.Time{}, orchestrator.Time{}
	o.changed = true
	o.checkpoint(duty.Unsubmitted(o.s), orchestrator.EffStopAgent, 0)
}

// keptAtEnd are the effects that the end of a session does not drop.
var keptAtEnd = map[string]bool{
	orchestrator.EffPreserve: true, orchestrator.EffWriteFile: true, orchestrator.EffWriteMarker: true, orchestrator.EffMaterialise: true,
	orchestrator.EffMoveAside: true, orchestrator.EffRemoveFiles: true, orchestrator.EffEnsureDirs: true, orchestrator.EffLastCompletion: true,
	orchestrator.EffRemoveWorkspace: true, // of a visit that was left before
	orchestrator.EffOrphan:          true,
	orchestrator.EffKeepLate:        true,
}

// park keeps the phase and waits for a person.
func (o *outcome) park(reason, text, next string) {
	if o.s.Ended() {
		return
	}
	o.end(orchestrator.OutcomeNeedsHuman, reason)
	o.event(orchestrator.NeedsHumanRecord{Reason: reason, Text: text, Next: next})
}

// fail ends the run because the session cannot go on.
func (o *outcome) fail(cause string) {
	if o.s.Phase == orchestrator.PhaseFailed {
		return
	}
	o.interrupt(orchestrator.LastRunFailed, orchestrator.OutcomeFailed, cause)
	o.event(orchestrator.FailedRecord{Cause: cause, Next: "agentmux resume " + o.s.SessionID})
}

// cancel ends the run because somebody asked for it.
func (o *outcome) cancel(actor, source string) {
	if o.s.Phase == orchestrator.PhaseFailed || o.s.Phase == orchestrator.PhaseDone {
		return
	}
	o.interrupt(orchestrator.LastRunCanceled, orchestrator.OutcomeCanceled, "canceled by "+actor)
	o.event(orchestrator.CanceledRecord{
		Cause: source, Actor: actor, Next: "agentmux resume " + o.s.SessionID,
	})
}

// loseClaim ends the run because another host works on the issue. Work that was not submitted is
// kept, since nobody here integrates it any more.
func (o *outcome) loseClaim(host string) {
	if o.s.Ended() {
		return
	}
	kept := duty.Unsubmitted(o.s)
	o.event(orchestrator.ClaimLostRecord{Host: host})
	o.interrupt(orchestrator.LastRunCanceled, orchestrator.OutcomeCanceled, "host "+host+" took over")
	o.s.OutcomeReason = orchestrator.ReasonClaimLost
	for _, name := range kept {
		o.workspaces.preserve(name)
	}
	o.event(orchestrator.CanceledRecord{
		Cause: string(o.s.Cause), Actor: orchestrator.ActorClaim, Next: "agentmux resume " + o.s.SessionID,
	})
}

func (o *outcome) interrupt(last, outcome, cause string) {
	o.s.InterruptedPhase, o.s.InterruptedEvent = orchestrator.Optional(o.s.Phase), orchestrator.Optional(o.s.LastEvent)
	o.s.Category, o.s.Cause = orchestrator.Optional(outcome), orchestrator.Optional(orchestrator.Truncate(cause, orchestrator.MaxEventText))
	o.s.ResumeCommand = orchestrator.Optional("agentmux resume " + o.s.SessionID)
	o.s.LogPath = orchestrator.Optional(o.s.FeatureDir + "/orchestrator.log")
	o.end(outcome, "")
	o.lastEvent(last)
	o.s.Phase = orchestrator.PhaseFailed
}

func (o *outcome) finishRun(outcome, reason string) {
	for _, key := range slices.Sorted(maps.Keys(o.s.Agents)) {
		o.crew.forget(key)
	}
	o.end(outcome, reason)
	o.s.Phase, o.s.Gate = orchestrator.PhaseDone, nil
	o.mail.Orphan()
	c := o.s.Completion
	o.event(orchestrator.DoneRecord{
		Outcome: outcome, Commit: c.Commit, PRURL: c.PRURL, Seconds: int(o.now.Sub(o.s.CreatedAt.Time).Seconds()),
	})
}

func (o *outcome) finishPhase(outcome, reason string) {
	seconds := int(o.now.Sub(o.s.PhaseEnteredAt.Time).Seconds())
	o.event(orchestrator.PhaseLeftRecord{Phase: o.s.Phase, Next: orchestrator.PhaseDone, Seconds: seconds})
	o.finishRun(outcome, reason)
}

// limit ends an unattended run that takes too long. In an interactive one it is
// only noted.
func (o *outcome) limit(name string) {
	span := o.s.Settings.LimitPhase
	if name == "total" {
		span = o.s.Settings.LimitTotal
	}
	if phase, ok := o.phase(); ok && name == "phase" {
		span = o.clock.phaseLimit(phase)
	}
	o.event(orchestrator.LimitReachedRecord{Limit: name, Seconds: int(span.D().Seconds())})
	if o.s.Interactive {
		return
	}
	o.fail("limits." + name + " of " + span.D().String() + " passed")
}

func (o *outcome) unanswered() {
	if reason, text := duty.Unanswered(o.s); reason != "" {
		o.park(reason, text+" was not answered in time", duty.AnswerHow[reason])
	}
}

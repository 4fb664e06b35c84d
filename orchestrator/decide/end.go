package decide

import (
	"maps"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// end sets the outcome: effects that are no longer wanted go, agents stop.
func (r *reducer) end(outcome, reason string) {
	r.s.Outcome, r.s.OutcomeReason = orchestrator.Optional(outcome), orchestrator.Optional(reason)
	r.dropPending(func(e orchestrator.Effect) bool { return !keptAtEnd[e.Type] && e.Type != orchestrator.EffStopAgent })
	for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
		r.stopWaiting(key) // its answer may come later, when the session goes on
	}
	r.s.Deadlines, r.s.StillSince = map[string]orchestrator.Time{}, orchestrator.Time{}
	r.changed = true
	r.checkpoint(r.unsubmitted(), orchestrator.EffStopAgent, 0)
}

// checkpointPause is how long the checkpoint of a phase waits, so that it does not take
// the machine from a hand-off, and phases in quick succession make one.
const checkpointPause = time.Second

// checkpoint has the session kept where another host finds it, with what workspaces hold.
// It is made behind the pending effects of a type, after a pause. The latest one is all
// that is wanted; one key keeps it behind an earlier one that is being made.
func (r *reducer) checkpoint(workspaces []string, behind string, pause time.Duration) {
	r.dropPending(func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint })
	r.effect(orchestrator.EffCheckpoint, "checkpoint", orchestrator.Args{Visit: r.s.Visit, Paths: workspaces},
		r.pending(func(e orchestrator.Effect) bool { return e.Type == behind })...)
	if pause > 0 {
		at := r.now.Later(pause)
		r.s.Pending[len(r.s.Pending)-1].NotBefore, r.effs[len(r.effs)-1].NotBefore = at, at
	}
}

// unsubmitted names the workspaces whose work is in no other place.
func (r *reducer) unsubmitted() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.s.Workspaces)) {
		if w := r.s.Workspaces[name]; !isView(name) && w.Path != "" && w.Used == r.s.Visit {
			names = append(names, name)
		}
	}
	return names
}

func (r *reducer) finishRun(outcome, reason string) {
	for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
		r.forget(key)
	}
	r.end(outcome, reason)
	r.s.Phase, r.s.Gate = orchestrator.PhaseDone, nil
	r.orphanMessages()
	c := r.s.Completion
	r.event(orchestrator.DoneRecord{
		Outcome: outcome, Commit: c.Commit, PRURL: c.PRURL, Seconds: r.runSeconds(),
	})
}

func (r *reducer) runSeconds() int { return int(r.now.Sub(r.s.CreatedAt.Time).Seconds()) }

// park keeps the phase and waits for a person.
func (r *reducer) park(reason, text, next string) {
	if r.s.Ended() {
		return
	}
	r.end(orchestrator.OutcomeNeedsHuman, reason)
	r.event(orchestrator.NeedsHumanRecord{Reason: reason, Text: text, Next: next})
}

// fail ends the run because the session cannot go on.
func (r *reducer) fail(cause string) {
	if r.s.Phase == orchestrator.PhaseFailed {
		return
	}
	r.interrupt(orchestrator.LastRunFailed, orchestrator.OutcomeFailed, cause)
	r.event(orchestrator.FailedRecord{Cause: cause, Next: "agentmux resume " + r.s.SessionID})
}

// cancel ends the run because somebody asked for it.
func (r *reducer) cancel(actor, source string) {
	if r.s.Phase == orchestrator.PhaseFailed || r.s.Phase == orchestrator.PhaseDone {
		return
	}
	r.interrupt(orchestrator.LastRunCanceled, orchestrator.OutcomeCanceled, "canceled by "+actor)
	r.event(orchestrator.CanceledRecord{
		Cause: source, Actor: actor, Next: "agentmux resume " + r.s.SessionID,
	})
}

func (r *reducer) interrupt(last, outcome, cause string) {
	r.s.InterruptedPhase, r.s.InterruptedEvent = orchestrator.Optional(r.s.Phase), orchestrator.Optional(r.s.LastEvent)
	r.s.Category, r.s.Cause = orchestrator.Optional(outcome), orchestrator.Optional(orchestrator.Truncate(cause, orchestrator.MaxEventText))
	r.s.ResumeCommand = orchestrator.Optional("agentmux resume " + r.s.SessionID)
	r.s.LogPath = orchestrator.Optional(r.s.FeatureDir + "/orchestrator.log")
	r.end(outcome, "")
	r.last(last)
	r.s.Phase = orchestrator.PhaseFailed
}

// keptAtEnd are the effects that the end of a session does not drop.
var keptAtEnd = map[string]bool{
	orchestrator.EffPreserve: true, orchestrator.EffWriteFile: true, orchestrator.EffWriteMarker: true, orchestrator.EffMaterialise: true,
	orchestrator.EffMoveAside: true, orchestrator.EffRemoveFiles: true, orchestrator.EffEnsureDirs: true, orchestrator.EffLastCompletion: true,
	orchestrator.EffRemoveWorkspace: true, // of a visit that was left before
	orchestrator.EffOrphan:          true,
}

package decide

import (
	"maps"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide/pause"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

// enterKind starts what a kind of phase does first.
func (r *reducer) enterKind(phase workflows.Phase) {
	switch phase.Kind {
	case workflows.KindAuthor:
		r.crew.enterAuthor(phase)
	case workflows.KindPlan:
		r.plan.enter(phase)
	case workflows.KindImplement:
		r.nextGroup()
	case workflows.KindReview:
		r.reviews.enter(phase)
	case workflows.KindFix:
		r.plan.enterFix(phase)
	case workflows.KindComplete:
		r.completion.enter(phase)
	case workflows.KindTeam:
		r.team.advance()
	}
}

// follow leaves the current phase along one of its outcomes, passing over
// author phases whose condition does not hold.
func (r *reducer) follow(outcome, reason string) {
	phase, ok := r.phase()
	if !ok || pause.Holds(r.s, outcome, reason) {
		return
	}
	r.enter(r.def.Entry(phase.Target(outcome, duty.Conditions(r.s)), duty.Conditions(r.s)), reason)
}

// FirstPhase returns the phase a new session starts in.
func FirstPhase(def *workflows.Definition, s *orchestrator.State) string {
	return def.Entry(def.Start, duty.Conditions(s))
}

// enter makes a phase the current one. A target of done ends the session.
func (r *reducer) enter(id, reason string) {
	seconds := int(r.now.Sub(r.s.PhaseEnteredAt.Time).Seconds())
	if r.s.PhaseEnteredAt.IsZero() {
		seconds = 0
	}
	from := r.s.Phase
	r.event(orchestrator.PhaseLeftRecord{Phase: from, Next: id, Seconds: seconds})
	if id == orchestrator.PhaseDone {
		r.outcome.finishRun(orchestrator.OutcomeDone, "")
		return
	}
	r.leaveVisit()
	r.s.Phase = id
	r.s.Visit++
	r.begin(reason)
}

// leaveVisit ends what belongs to the visit only: its agents, views, deadlines.
func (r *reducer) leaveVisit() {
	for _, key := range slices.Sorted(maps.Keys(r.s.Agents)) {
		if !duty.Researches(key.Role()) {
			r.crew.dismiss(key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.s.Workspaces)) {
		if duty.IsView(name) && !duty.Researches(duty.Viewer(name).Role()) {
			r.workspaces.remove(name)
		}
	}
	r.clock.disarm("phase", "review", "summary", "gate")
	r.s.Counters, r.s.Held = map[string]orchestrator.Counter{}, orchestrator.Held{}
	r.s.Seen = map[string]string{}
}

// begin does what the current phase starts with, under the current visit.
func (r *reducer) begin(reason string) {
	phase, ok := r.phase()
	if !ok {
		r.outcome.fail("phase " + r.s.Phase + " is not in the workflow")
		return
	}
	r.s.PhaseEnteredAt = r.now
	if r.s.Integrated.Commit == "" {
		r.s.Integrated.Commit = r.s.BaseSHA
	}
	r.s.InterruptedPhase, r.s.InterruptedEvent = "", ""
	r.event(orchestrator.PhaseEnteredRecord{Phase: phase.ID, Kind: phase.Kind, Reason: reason})
	if _, armed := r.s.Deadlines["total"]; !armed {
		r.clock.arm("total", r.s.Settings.LimitTotal)
	}
	r.clock.armPhase(phase)
	r.effect(orchestrator.EffEnsureDirs, phase.Dir, orchestrator.Args{Paths: r.phaseDirs(phase)})
	r.enterKind(phase)
	r.saving.soon()
}

// phaseDirs lists the directories a phase writes to.
func (r *reducer) phaseDirs(phase workflows.Phase) []string {
	if other, ok := writesBeside[phase.Kind]; ok {
		return []string{phase.Dir, r.def.DirOf(other)}
	}
	return []string{phase.Dir}
}

// writesBeside names the phase in whose directory another one writes, too.
var writesBeside = map[string]string{
	workflows.KindReview: workflows.KindComplete, workflows.KindFix: workflows.KindReview, workflows.KindImplement: workflows.KindPlan,
}

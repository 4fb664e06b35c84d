package decide

import (
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/team"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// observer says what a file that counts without a tool call means. It is asked only
// where it matters; elsewhere the file is as if it were not there.
type observer struct {
	matters func(*reducer, workflows.Phase, *orchestrator.Observation) bool
	take    func(*reducer, workflows.Phase, *orchestrator.Observation)
}

var observers = map[string]observer{
	orchestrator.ObserveArtifact: {
		func(_ *reducer, phase workflows.Phase, _ *orchestrator.Observation) bool { return phase.FileAccepts },
		func(r *reducer, phase workflows.Phase, o *orchestrator.Observation) {
			if r.usable(o) {
				r.acceptAuthor(phase, phase.Role, nil)
			}
		},
	},
	orchestrator.ObserveSummary: {
		func(r *reducer, _ workflows.Phase, _ *orchestrator.Observation) bool { return r.s.AwaitingSummary },
		func(r *reducer, _ workflows.Phase, o *orchestrator.Observation) {
			if r.usable(o) {
				r.summaryTaken(o.Artifact)
			}
		},
	},
	orchestrator.ObserveMarker:   {(*reducer).markerMatters, (*reducer).takeMarker},
	orchestrator.ObserveDone:     {(*reducer).doneMatters, (*reducer).takeDone},
	orchestrator.ObserveApproval: {(*reducer).gateOpen, (*reducer).takeApproval},
	orchestrator.ObserveChanges:  {(*reducer).gateOpen, (*reducer).takeChanges},
	orchestrator.ObserveReview: {
		func(r *reducer, phase workflows.Phase, o *orchestrator.Observation) bool {
			return phase.Kind == workflows.KindReview && !r.s.AwaitingSummary && r.s.ActiveReviews[o.Name] != orchestrator.ReviewCompleted
		},
		(*reducer).takeReview,
	},
}

func (r *reducer) observe() {
	o := r.in.Observe
	phase, ok := r.phase()
	if !ok || r.s.Paused || r.s.Ended() {
		return
	}
	handle, ok := observers[o.What]
	if ok && handle.matters(r, phase, o) && r.isNew(duty.Observed(o.What, o.Name), o.Evidence) {
		handle.take(r, phase, o)
	}
}

// usable reports whether an observed artifact is valid.
func (r *reducer) usable(o *orchestrator.Observation) bool {
	a := o.Artifact
	if a == nil || len(a.Problems) > 0 || o.What == orchestrator.ObserveReview && a.Review == nil {
		r.event(orchestrator.InputRejectedRecord{Tool: o.What, Role: o.Name, Errors: append([]string{}, o.Problems...)})
		return false
	}
	return true
}

// markerMatters reports whether a marker made by hand counts: of a subplan that is
// not submitted, or done_1 while the fixer owes its submission.
func (r *reducer) markerMatters(phase workflows.Phase, o *orchestrator.Observation) bool {
	switch phase.Kind {
	case workflows.KindTeam:
		return o.Evidence != "" && r.s.Team[o.Name].Marker == "" && len(r.pending(team.Unmarks(o.Name))) == 0
	case workflows.KindImplement:
		status := r.s.SubplanStatus[o.Name]
		return status == orchestrator.SubplanRunning || status == orchestrator.SubplanPending
	case workflows.KindFix:
		return o.Name == "1" && r.s.SubplanStatus[orchestrator.FixTask] == orchestrator.SubplanRunning
	}
	return false
}

// takeMarker takes a marker at once, or at the dispatch of its subplan.
func (r *reducer) takeMarker(phase workflows.Phase, o *orchestrator.Observation) {
	switch {
	case r.team.atWork():
		r.team.takeMarker(o)
	case o.Evidence == "": // it was removed again
		delete(r.s.Seen, duty.Observed(orchestrator.ObserveMarker, o.Name))
	default:
		if by, task, ok := duty.Submitter(r.def, r.s, duty.MarkedTask(phase, o.Name)); ok {
			r.handedIn(by, task)
		}
	}
}

// takeReview takes a verdict found at a resume. A file of a role that does not run
// is only noted.
func (r *reducer) takeReview(_ workflows.Phase, o *orchestrator.Observation) {
	switch {
	case r.s.ActiveReviews[o.Name] != orchestrator.ReviewPending:
		r.ignore(duty.Call{Tool: toolset.SubmitReview, Role: o.Name}, "this role does not run")
	case r.usable(o):
		r.reviewTaken(o.Name, o.Artifact)
	}
}

func (r *reducer) gateOpen(workflows.Phase, *orchestrator.Observation) bool { return r.s.Gate != nil }

func (r *reducer) doneMatters(_ workflows.Phase, o *orchestrator.Observation) bool {
	_, counts := duty.DoneMarkers(r.def, r.s)[orchestrator.AgentKey(o.Name)]
	return counts
}

// takeDone takes the marker for the call it replaces.
func (r *reducer) takeDone(phase workflows.Phase, o *orchestrator.Observation) {
	if !r.usable(o) {
		return
	}
	role, topic := orchestrator.AgentKey(o.Name).Split()
	kind, researches := duty.ResearchKind(role)
	if !researches {
		r.acceptAuthor(phase, role, nil)
		return
	}
	r.research.done(duty.Call{Tool: toolset.SubmitResearchDone, Role: role, Task: topic, Payload: orchestrator.Payload{Type: kind, Topic: topic}})
}

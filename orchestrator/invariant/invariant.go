// Package invariant says what holds in every state of a session. A decision that breaks it is not
// committed, and a state that does is damaged.
package invariant

import (
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Check reports the first broken invariant of a state, as an error that names it.
func Check(def *workflows.Definition, s *orchestrator.State) error {
	for _, rule := range invariants {
		if text := rule(def, s); text != "" {
			return fmt.Errorf("state: %s", text)
		}
	}
	return nil
}

var invariants = []func(*workflows.Definition, *orchestrator.State) string{checkTerminal, checkGroups, checkSchedule, checkHeld}

func checkTerminal(def *workflows.Definition, s *orchestrator.State) string {
	_, known := def.Phase(s.Phase)
	switch {
	case s.Phase == orchestrator.PhaseDone && s.Outcome != orchestrator.OutcomeDone && s.Outcome != orchestrator.OutcomeNeedsHuman:
		return fmt.Sprintf("phase done with outcome %q", s.Outcome)
	case s.Phase == orchestrator.PhaseFailed && s.Outcome != orchestrator.OutcomeFailed && s.Outcome != orchestrator.OutcomeCanceled:
		return fmt.Sprintf("phase failed with outcome %q", s.Outcome)
	case s.Phase == orchestrator.PhaseFailed && s.LastEvent != orchestrator.LastRunFailed && s.LastEvent != orchestrator.LastRunCanceled:
		return fmt.Sprintf("phase failed with last_event %q", s.LastEvent)
	case known && s.Outcome != "" && s.Outcome != orchestrator.OutcomeNeedsHuman:
		return fmt.Sprintf("phase %s with outcome %q", s.Phase, s.Outcome)
	case !known && s.Phase != orchestrator.PhaseDone && s.Phase != orchestrator.PhaseFailed:
		return fmt.Sprintf("phase %q is not in the workflow", s.Phase)
	}
	if _, ok := orchestrator.Label(s.LastEvent); !ok {
		return fmt.Sprintf("last_event %q is not in the catalog", s.LastEvent)
	}
	return ""
}

func checkGroups(_ *workflows.Definition, s *orchestrator.State) string {
	if s.GroupIndex < 0 || s.GroupIndex > s.GroupTotal {
		return fmt.Sprintf("group index %d of %d", s.GroupIndex, s.GroupTotal)
	}
	idle := s.GroupIndex == 0 || len(s.CompletedGroups) == s.GroupTotal
	if (s.GroupMode == "") != idle {
		return fmt.Sprintf("group mode %q at group %d of %d", s.GroupMode, s.GroupIndex, s.GroupTotal)
	}
	for _, id := range s.ActivePlanIDs {
		if slices.Contains(s.CompletedSubplans, id) {
			return fmt.Sprintf("subplan %s is active and completed", id)
		}
	}
	return ""
}

func checkSchedule(def *workflows.Definition, s *orchestrator.State) string {
	if s.Schedule == nil {
		kind, ok := def.Phase(s.Phase)
		if ok && slices.Contains([]string{workflows.KindImplement, workflows.KindReview, workflows.KindFix, workflows.KindComplete}, kind.Kind) && !s.IsClassic() {
			return "phase " + s.Phase + " without a schedule"
		}
		return ""
	}
	scheduled := map[string]bool{}
	for _, group := range s.Schedule.Groups {
		for _, id := range group.Plans {
			scheduled[id] = true
		}
	}
	for _, id := range append(slices.Clone(s.ActivePlanIDs), s.CompletedSubplans...) {
		if !scheduled[id] {
			return fmt.Sprintf("subplan %s is not in the schedule", id)
		}
	}
	return ""
}

// checkHeld: a step that a pause has held up is one that its phase can take.
func checkHeld(def *workflows.Definition, s *orchestrator.State) string {
	phase, known := def.Phase(s.Phase)
	if h := s.Held.Outcome; known && h != "" && len(phase.Next[h]) == 0 {
		return fmt.Sprintf("phase %s ends with %q, which it cannot", s.Phase, h)
	}
	return ""
}

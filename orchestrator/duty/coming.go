package duty

import (
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Coming returns how many workspaces the step after the present one is known to need, for who
// makes them ahead.
func Coming(def *workflows.Definition, s *orchestrator.State) int {
	phase, ok := def.Phase(s.Phase)
	switch {
	case !ok || s.Ended() || phase.Kind == workflows.KindComplete: // what a person wants changed then is a matter of hours
		return 0
	case phase.Kind == workflows.KindImplement:
		// Before what follows, coders of the next group or of a conflict.
		return max(1, following(def, s, phase))
	}
	return following(def, s, phase)
}

// following is the largest need of the phases that a phase may lead to.
func following(def *workflows.Definition, s *orchestrator.State, phase workflows.Phase) int {
	n := 0
	for _, targets := range phase.Next {
		for _, t := range targets {
			next, _ := def.Phase(t.To)
			switch next.Kind {
			case workflows.KindAuthor, workflows.KindPlan, workflows.KindFix:
				n = max(n, 1)
			case workflows.KindImplement:
				n = max(n, s.Settings.Parallel)
			case workflows.KindReview:
				n = max(n, len(ReviewRoles(def, s)))
			}
		}
	}
	return n
}

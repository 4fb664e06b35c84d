package duty

import (
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Coming returns how many workspaces the step after the present one is known to need, for who
// makes them ahead.
func Coming(def *workflows.Definition, s *orchestrator.State) int {
	phase, ok := def.Phase(s.Phase)
	switch {
	case !ok || s.Ended() || phase.Kind == workflows.KindComplete: // what a person wants changed then is a matter of hours
		return 0
	case def.Team != nil:
		return waiting(def, s)
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

// waiting counts the agents of an agents file that start once those that are at work, or about to be, are
// done.
func waiting(def *workflows.Definition, s *orchestrator.State) int {
	of := map[string]agents.Status{}
	for i := range def.Team.Agents {
		a := &def.Team.Agents[i]
		p := s.Team[a.Name]
		of[a.Name] = p.Status(p.Started(string(s.Agents[TeamKey(a)].LastLaunch)))
	}
	n := 0
	for i := range def.Team.Agents {
		a := &def.Team.Agents[i]
		open := slices.ContainsFunc(a.DependsOn, func(d string) bool { return of[d] == agents.Running })
		stuck := slices.ContainsFunc(a.DependsOn, func(d string) bool { return of[d] != agents.Running && of[d] != agents.Done })
		if of[a.Name] == agents.Waiting && open && !stuck {
			n++
		}
	}
	return n
}

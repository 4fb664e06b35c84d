package duty

import (
	"fmt"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// ScheduleOf keeps of a plan what the reducer decides by.
func ScheduleOf(p *artifact.Plan) *orchestrator.Schedule {
	out := &orchestrator.Schedule{NeedsDesign: p.NeedsDesign, Owned: map[string][]string{}, Titles: map[string]string{}}
	for _, group := range p.Groups {
		g := orchestrator.Group{ID: group.ID, Mode: group.Mode}
		for _, plan := range group.Plans {
			g.Plans = append(g.Plans, fmt.Sprint(plan.Index))
		}
		out.Groups = append(out.Groups, g)
	}
	for _, sub := range p.Subplans {
		id := fmt.Sprint(sub.Index)
		out.Owned[id], out.Titles[id] = sub.OwnedFiles, sub.Title
	}
	return out
}

// Conditions are the facts that a definition's "when" may ask for.
func Conditions(s *orchestrator.State) workflows.Conditions {
	return workflows.Conditions{
		"product_manager": s.ProductManager,
		"needs_design":    s.Schedule != nil && s.Schedule.NeedsDesign,
		"interactive":     s.Interactive,
		"issue":           s.IssueNumber > 0,
	}
}

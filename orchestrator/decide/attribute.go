package decide

import (
	"maps"
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// Attribute returns the calls that a line can stand for. A line of the earlier tool
// names neither role nor launch, of research not even the topic: it stands for
// whoever could have sent it. Any other line is its own only call.
func Attribute(def *workflows.Definition, s *orchestrator.State, c Call) []Call {
	switch {
	case c.Role != "":
		return []Call{c}
	case c.Tool == "submit_research_done":
		return researchCalls(s, c)
	case c.Tool == "submit_review" && c.Payload.Role == "":
		var calls []Call
		for _, role := range pendingReviews(s) {
			one := c
			one.Role = role
			calls = append(calls, one)
		}
		return orItself(calls, c)
	case !PhaseBound(c.Tool):
		return []Call{c}
	}
	if phase, ok := def.Phase(s.Phase); ok {
		if agents := phaseAgents(def, s, phase); len(agents) == 1 {
			c.Role, c.Task = agents[0].Role, agents[0].Task
		}
	}
	return []Call{c}
}

// researchCalls returns a call for every running topic that the line may mean.
func researchCalls(s *orchestrator.State, c Call) []Call {
	var calls []Call
	for _, kind := range []string{"code", "web"} {
		if c.Payload.Type != "" && c.Payload.Type != kind {
			continue
		}
		tasks := researchTasks(s, kind)
		for _, topic := range slices.Sorted(maps.Keys(tasks)) {
			if tasks[topic] != orchestrator.ResearchDispatched || c.Payload.Topic != "" && c.Payload.Topic != topic {
				continue
			}
			one := c
			one.Role, one.Task = researchRole(kind), topic
			one.Payload.Type, one.Payload.Topic = kind, topic
			calls = append(calls, one)
		}
	}
	return orItself(calls, c)
}

func orItself(calls []Call, c Call) []Call {
	if len(calls) == 0 {
		return []Call{c}
	}
	return calls
}

// Kinds of artifacts.
const (
	ArtifactText   = "text"
	ArtifactPlan   = "plan"
	ArtifactReview = "review"
)

// ArtifactOf returns the file, relative to the session directory, that a call
// submits, and how it is to be read; both are empty for a call without one.
func ArtifactOf(def *workflows.Definition, s *orchestrator.State, c Call) (file, kind string) {
	switch c.Tool {
	case "submit_pm_done", "submit_architecture", "submit_design":
		for _, phase := range def.Phases {
			if phase.Tool == c.Tool {
				return phase.Artifact, ArtifactText
			}
		}
	case "submit_plan":
		return path.Join(dirOf(def, workflows.KindPlan), "plan.yaml"), ArtifactPlan
	case "submit_review":
		role := c.Role
		if c.Payload.Role != "" {
			role = c.Payload.Role
		}
		return orchestrator.ReviewFile(dirOf(def, workflows.KindReview), role), ArtifactReview
	case "submit_summary":
		return path.Join(dirOf(def, workflows.KindComplete), "summary.md"), ArtifactText
	case "submit_research_done":
		return path.Join(orchestrator.ResearchDir(c.Payload.Type, c.Payload.Topic), "summary.md"), ArtifactText
	}
	return "", ""
}

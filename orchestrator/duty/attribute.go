package duty

import (
	"maps"
	"path"
	"slices"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// Attribute returns the calls that a line can mean. A line of the earlier tool names neither
// role nor launch, and about research not even the topic: it means every agent that could have
// sent it. Any other line means one call.
func Attribute(def *workflows.Definition, s *orchestrator.State, c Call) []Call {
	switch {
	case c.Role != "":
		return []Call{c}
	case c.Tool == toolset.SubmitResearchDone:
		return researchCalls(s, c)
	case c.Tool == toolset.SubmitReview && c.Payload.Role == "":
		var calls []Call
		for _, role := range PendingReviews(s) {
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
			one.Role, one.Task = ResearchRole(kind), topic
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
	ArtifactText   = toolset.ArtifactText
	ArtifactPlan   = toolset.ArtifactPlan
	ArtifactReview = toolset.ArtifactReview
)

// ArtifactOf returns the file, relative to the session directory, that a call
// submits, and how it is to be read; both are empty for a call without one.
func ArtifactOf(def *workflows.Definition, s *orchestrator.State, c Call) (file, kind string) {
	tool, _ := toolset.Find(c.Tool)
	a := tool.Artifact
	switch a.Place {
	case toolset.PlacePhase:
		for _, phase := range def.Phases {
			if phase.Tool == c.Tool {
				return phase.Artifact, a.Kind
			}
		}
	case toolset.PlaceDir:
		return path.Join(def.DirOf(a.In), a.File), a.Kind
	case toolset.PlaceReview:
		role := c.Role
		if c.Payload.Role != "" {
			role = c.Payload.Role
		}
		return artifact.ReviewFile(def.DirOf(a.In), role), a.Kind
	case toolset.PlaceTopic:
		return path.Join(ResearchDir(c.Payload.Type, c.Payload.Topic), a.File), a.Kind
	}
	return "", ""
}

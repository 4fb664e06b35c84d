package decide

import (
	"path"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

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

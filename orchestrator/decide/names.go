package decide

import (
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// resolveTask names the task of a coder that brings its conflicting work in.
func resolveTask(id string) string { return "resolve-" + id }

// subplanOf returns the subplan a coder's task works on.
func subplanOf(task string) string { return strings.TrimPrefix(task, "resolve-") }

// researchRole returns the role and the short type of a research tool or type.
func researchRole(kind string) string { return kind + "-researcher" }

// underscored is how role names stand in file names.
func underscored(role string) string { return strings.ReplaceAll(role, "-", "_") }

func reviewPrompt(dir, role string) string {
	if role == "reviewer" {
		return path.Join(dir, "review_prompt.md")
	}
	return path.Join(dir, "review_"+strings.TrimPrefix(role, "reviewer_")+"_prompt.md")
}

func dirOf(def *workflows.Definition, kind string) string {
	p, _ := def.Kind(kind)
	return p.Dir
}

// reviewRoles returns the roles of a review phase for this session, in the
// order logic, quality, expert.
func reviewRoles(def *workflows.Definition, s *orchestrator.State) []string {
	p, ok := def.Kind(workflows.KindReview)
	if !ok {
		return nil
	}
	var roles []string
	for _, role := range p.Roles {
		if slices.Contains(s.Nominations, role) {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return slices.Clone(p.DefaultRoles)
	}
	return roles
}

package workflows

import (
	"path"
	"slices"
	"strings"
)

// rootFiles and phaseFiles are the names of files that hosts and agents of shipped workflows write, in
// the session directory and in those of its phases.
var (
	rootFiles  = []string{"context.md", "requirements.md", "definition.yaml", "issue_snapshot.json", "state.json", "events.jsonl"}
	phaseFiles = []string{
		"*_prompt.md", "*_prompt_*.md", "plan.yaml", "plan.md", "plan_*.md", "tasks_*.md", "execution_plan.yaml",
		"conflict_*.diff", "review*.yaml", "review*.md", "fix_request.md", "summary.md", "detail.md", "request.md", "pr_body.md", "approval.json", "changes.md",
	}
)

// hasFile reports whether a session of a workflow may have a file.
func (c *checker) hasFile(file string) bool {
	dir, name := path.Split(file)
	if dir == "" {
		return slices.Contains(rootFiles, name)
	}
	top, _, _ := strings.Cut(dir, "/")
	// The names of the shipped workflows mean this workflow's own, see Definition.Paths.
	known := slices.Contains([]string{"03_research", "04_planning", "06_implementation", "07_review", "08_completion"}, top)
	for _, p := range c.raw.Phases {
		switch {
		case p.Artifact == file, p.Tool == ToolSubmitArchitecture && file == "02_architecting/architecture.md",
			p.Tool == ToolSubmitDesign && file == "05_design/design.md":
			return true
		}
		known = known || p.Dir == top
	}
	return known && slices.ContainsFunc(phaseFiles, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok })
}

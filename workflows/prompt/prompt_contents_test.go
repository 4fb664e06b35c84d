package prompt_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/workflows/prompt"
)

// testPromptContents checks that each prompt carries what its role works from, and says
// what sets the role apart.
func testPromptContents(t *testing.T) {
	root := sessionDir(t)
	const context, requirements, architecture, plan = "context.md", "requirements.md", "02_architecting/architecture.md", "04_planning/plan.md"
	for _, file := range []string{
		context, requirements, architecture, plan, "04_planning/plan_2.md", "04_planning/tasks_2.md", "05_design/design.md",
		"06_implementation/conflict_2.diff", "07_review/fix_request.md", "07_review/review.md",
		"03_research/code-token-use/request.md", "03_research/web-clock-skew/request.md",
	} {
		put(t, root, file, "CONTENT OF "+file+"\n")
	}
	reviewer := []string{context, requirements, architecture, plan, "=diff_stat", "=previous_findings", "Change nothing", "your own field"}
	contents := map[string][]string{
		"agents/product-manager":  {context, requirements, "=research_handoff", "You speak for the people", "Acceptance criteria", "Out of scope", "Design need", "simpler way"},
		"agents/architect":        {context, requirements, "=research_handoff", "no schedule", "Technology", "Risks", "reviewers"},
		"agents/planner":          {context, requirements, architecture, "=research_handoff", "it is fixed", "serial base", "Changes of documents are tasks"},
		"commands/change":         {requirements, plan, "=change_request", "only what the request below adds or\nalters", "part of the base"},
		"agents/designer":         {context, plan, "Presentation only", "Accessibility", "Integration"},
		"agents/coder":            {context, "04_planning/plan_2.md", "04_planning/tasks_2.md", "05_design/design.md", "=research_handoff", "write the test first", "one at a time", "Never weaken", "full test suite", "no commit, push"},
		"commands/resolve":        {"04_planning/plan_2.md", "06_implementation/conflict_2.diff", "=conflict_paths", "Keep both"},
		"commands/fix":            {requirements, plan, "07_review/fix_request.md", "exactly these findings", "number is 1"},
		"agents/reviewer":         reviewer,
		"agents/reviewer_logic":   append([]string{"plan and correctness"}, reviewer...),
		"agents/reviewer_quality": append([]string{"the next developer read"}, reviewer...),
		"agents/reviewer_expert":  append([]string{"security", "races", "edge cases"}, reviewer...),
		"commands/summary":        {requirements, plan, "07_review/review.md", "exactly these three headings"},
		"agents/code-researcher":  {context, "03_research/code-token-use/request.md", "by its number", "`path:line`", "Ask nothing", "detail.md"},
		"agents/web-researcher":   {context, "03_research/web-clock-skew/request.md", "by its number", "URL", "Ask nothing", "detail.md"},
	}
	if len(contents) != len(prompt.Templates()) {
		t.Errorf("%d templates, %d are checked", len(prompt.Templates()), len(contents))
	}
	for template, parts := range contents {
		t.Run(template, func(t *testing.T) {
			for _, interactive := range []bool{true, false} {
				r := request(template, root)
				r.Interactive = interactive
				for _, name := range prompt.Placeholders() {
					if r.Values[name] == "" {
						r.Values[name] = "VALUE OF " + name
					}
				}
				text := mustRender(t, r)
				for _, part := range parts {
					want := part
					switch name, value := strings.CutPrefix(part, "="); {
					case value:
						want = r.Values[name]
					case strings.Contains(part, ".") && !strings.Contains(part, " ") && part != "detail.md":
						want = "CONTENT OF " + part
					}
					if !strings.Contains(text, want) {
						t.Errorf("%s, interactive %t, lacks %q", template, interactive, want)
					}
				}
				approves := map[string]bool{"agents/product-manager": true, "agents/architect": true, "agents/planner": true, "commands/change": true}[template]
				if got := strings.Contains(text, "## Approval"); got != approves {
					t.Errorf("%s: approval %t", template, got)
				}
			}
		})
	}
}

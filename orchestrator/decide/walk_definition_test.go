package decide_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/workflows"
)

// inventor makes workflows nobody has thought of, valid ones only.
type inventor struct {
	r      *rand.Rand
	phases strings.Builder
	tools  []string // of authors, not used yet
	dirs   int
}

// definition returns a workflow of random phases, through the checks every workflow of
// a project goes through.
func randomDefinition(t *testing.T, r *rand.Rand) *workflows.Definition {
	t.Helper()
	v := &inventor{r: r, tools: []string{"submit_pm_done", "submit_architecture", "submit_design"}}
	r.Shuffle(len(v.tools), func(i, j int) { v.tools[i], v.tools[j] = v.tools[j], v.tools[i] })
	text := v.text()
	fsys := fstest.MapFS{workflows.ProjectWorkflows + "/random.yaml": {Data: []byte(text)}}
	def, _, problems := workflows.Load("random", fsys)
	if err := problems.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return def
}

// text goes backwards: each phase is written when the one it leads to is known.
func (v *inventor) text() string {
	v.phase("completing", "complete", "%s", "approved: done, changes_requested: planning")
	next := "completing"
	if v.r.IntN(5) > 0 {
		next = v.reviewed()
	}
	v.phase("implementing", "implement", v.role("coder", "designer"), "completed: "+v.author(next, "made"))
	accepted := v.author("implementing", "between")
	if accepted != "implementing" && v.r.IntN(2) == 0 {
		accepted = fmt.Sprintf("[{when: [%s], to: %s}, {to: implementing}]", v.condition(), accepted)
	}
	research := ", research: true"
	if v.r.IntN(3) == 0 {
		research = ""
	}
	v.phase("planning", "plan", v.role("planner", "architect")+research, "accepted: "+accepted)
	start := v.author(v.author("planning", "second"), "first")
	return fmt.Sprintf("version: 1\nname: random\ndescription: invented\nstart: %s\nphases:\n%s", start, v.phases.String())
}

// reviewed writes a review, with or without rounds of fixes, and returns its id.
func (v *inventor) reviewed() string {
	passed, more := v.author("completing", "passed"), ""
	if v.r.IntN(2) == 0 {
		more = fmt.Sprintf(", roles: [reviewer, reviewer_expert], default_roles: [%s]", pick(v.r, []string{"reviewer", "reviewer_expert"}))
	}
	next := "passed: " + passed + ", exhausted: " + pick(v.r, []string{passed, "completing"})
	if v.r.IntN(4) == 0 {
		v.phase("checking", "review", "%s, max_iterations: 0"+more, next)
		return "checking"
	}
	if v.r.IntN(2) == 0 {
		more += fmt.Sprintf(", max_iterations: %d", v.r.IntN(4))
	}
	v.phase("repairing", "fix", v.role("coder", "planner"), "completed: checking")
	v.phase("checking", "review", "%s"+more, next+", failed: repairing")
	return "checking"
}

// author writes an author phase in front of next, or none, and returns what leads on.
func (v *inventor) author(next, id string) string {
	if len(v.tools) == 0 || v.r.IntN(2) == 0 {
		return next
	}
	tool := v.tools[0]
	v.tools = v.tools[1:]
	event := map[string]string{
		"submit_pm_done": "pm_completed", "submit_architecture": "architecture_written", "submit_design": "design_written",
	}[tool]
	more := fmt.Sprintf(", tool: %s, event: %s, artifact: %%[1]s/out.md", tool, event)
	for _, flag := range []string{"research", "file_accepts", "nominates"} {
		if v.r.IntN(2) == 0 {
			more += ", " + flag + ": true"
		}
	}
	if v.r.IntN(2) == 0 {
		more += ", when: [" + v.condition() + "]"
	}
	v.phase(id, "author", v.role("architect", "designer", "product-manager")+more, "submitted: "+next)
	return id
}

func (v *inventor) condition() string {
	return pick(v.r, []string{
		"product_manager", `"!product_manager"`, "needs_design", `"!needs_design"`, "interactive", `"!interactive"`, `"!issue"`,
	})
}

func (v *inventor) role(roles ...string) string { return "%s, role: " + pick(v.r, roles) }

// phase writes one phase. The fields' %s is the directory.
func (v *inventor) phase(id, kind, fields, next string) {
	v.dirs++
	dir := fmt.Sprintf("%02d_%s", 10+v.dirs, id)
	if v.r.IntN(4) == 0 {
		fields += ", timeout: " + pick(v.r, []string{"5m", "3h"})
	}
	fmt.Fprintf(&v.phases, "  - {id: %s, kind: %s, dir: %s, next: {%s}}\n", id, kind, fmt.Sprintf(strings.Replace(fields, "%s", "%[1]s", 1), dir), next)
}

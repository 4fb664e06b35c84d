package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

const gatedWorkflow = `version: 1
name: own
start: planning
phases:
  - {id: planning, kind: plan, dir: 04_planning, gate: true, next: {accepted: implementing}}
  - {id: implementing, kind: implement, dir: 06_implementation, next: {completed: reviewing}}
  - id: reviewing
    kind: review
    dir: 07_review
    roles: [reviewer_logic, reviewer_expert]
    default_roles: [reviewer_logic, reviewer_expert]
    prompts: {reviewer_expert: project/threats}
    max_iterations: 0
    next: {passed: completing, exhausted: completing}
  - {id: completing, kind: complete, dir: 08_completion, gate: true, next: {approved: done, changes_requested: planning}}
`

// A workflow of the project gives a reviewer a prompt of its own, and has a person approve the
// plan and the result, whatever the configuration says.
func TestAWorkflowHasPromptsForReviewersAndGates(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, attended := range map[string]bool{"unattended": false, "attended": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.config.Defaults.Completion.SkipFinalApproval = true
			r.write(".agentmux/workflows/own.yaml", gatedWorkflow)
			r.write(".agentmux/prompts/project/threats.md",
				"Who could do harm?\n[[placeholder:diff_stat]]\n[[placeholder:session_dir]]/07_review/review_[[placeholder:role]].yaml\n[[shared:finish]]\n")
			r.script(simple())
			dir := r.prepare(func(spec *host.PrepareSpec) { own(spec); spec.Interactive = attended })
			stop := r.background(host.RunSpec{Dir: dir})
			for i, gate := range []string{orchestrator.GatePlan, orchestrator.GateCompletion} {
				r.gateOpen(dir, i+1)
				if s := r.state(dir); s.Gate == nil || s.Gate.Name != gate {
					t.Errorf("gate %+v, want %s", s.Gate, gate)
				}
				r.command(dir, gate, "approve", orchestrator.CommandArgs{})
			}
			s, err := stop(nil)
			if err != nil {
				t.Fatal(err)
			}
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			for file, want := range map[string]string{
				"review_expert_prompt.md": "Who could do harm?\na.txt | +1 -0\n1 files, +1 -0 lines\n" + dir + "/07_review/review_reviewer_expert.yaml\n",
				"review_logic_prompt.md":  "# Reviewer",
			} {
				text, err := os.ReadFile(filepath.Join(dir, "07_review", file))
				if err != nil || !strings.Contains(string(text), want) {
					t.Errorf("%s lacks %q: %v\n%s", file, want, err, text)
				}
			}
			if len(s.ReviewResults) != 2 {
				t.Errorf("verdicts: %+v", s.ReviewResults)
			}
		})
	}
}

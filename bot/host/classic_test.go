package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/tmux"
)

// S6: a session of the earlier tool, whose first subplan lies finished in the clone, goes
// on with the second and ends in a branch that holds both.
func TestProtocolS6AClassicSessionKeepsItsWork(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.script(scenario{Files: map[string][]string{"2": {"b.txt=two"}}})
	r.write("a.txt", "one\n")
	session := ".agentmux/.sessions/20240115-103000-greet/"
	for rel, text := range map[string]string{
		"state.json": `{"phase": "implementing", "last_event": "plan_written", "product_manager": false, "subplan_count": "2",
  "completed_subplans": [1], "review_iteration": 0, "implementation_group_total": 1, "implementation_group_index": 1,
  "implementation_group_mode": "serial", "implementation_active_plan_ids": ["plan_2"], "implementation_completed_group_ids": [],
  "updated_at": "2024-01-15T10:30:00+00:00", "updated_by": "x", "feature_dir": "", "session_name": "agentmux-greet"}`,
		"requirements.md":        "# Requirements\n\n## Initial Request\n\nWrite a greeting.\n",
		"context.md":             "# Session\n",
		"tool_events.jsonl":      "",
		"04_planning/plan.md":    "Two files.\n",
		"04_planning/plan_1.md":  "# One\n",
		"04_planning/plan_2.md":  "# Two\n",
		"04_planning/tasks_1.md": "- [ ] a\n",
		"04_planning/tasks_2.md": "- [ ] b\n",
		"04_planning/execution_plan.yaml": "version: 2\nneeds_design: false\nneeds_docs: false\ndoc_files: []\ngroups:\n" +
			"  - {group_id: core, mode: serial, plans: [{file: plan_1.md, name: One}, {file: plan_2.md, name: Two}]}\n",
		"02_architecting/architecture.md": "# Architecture\n",
	} {
		r.write(session+rel, text)
	}
	s := r.run(host.RunSpec{Dir: r.earlier(session), Resume: true})
	if s.Outcome != orchestrator.OutcomeDone {
		t.Fatalf("phase %s, outcome %s, cause %s", s.Phase, s.Outcome, s.Cause)
	}
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != "README.md\na.txt\nb.txt" {
		t.Errorf("files: %q", got)
	}
	if status := r.git("status", "--porcelain"); !strings.Contains(status, "?? a.txt") || strings.Contains(status, "b.txt") {
		t.Errorf("the clone changed: %s", status)
	}
	if _, err := os.Stat(filepath.Join(r.project, "b.txt")); err == nil {
		t.Error("an agent wrote to the clone")
	}
}

// R4: a session of the earlier tool that was reviewed once continues with its fix, and its
// reviewer gets its earlier findings, although nothing says which tree they were about.
func TestProtocolR4AReviewedClassicSessionContinues(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(scenario{Files: map[string][]string{"fix": {"b.txt=two"}}})
	r.write("a.txt", "one\n")
	session := ".agentmux/.sessions/20240115-103000-greet/"
	failed := "verdict: fail\nsummary: Too short.\nfindings: [{issue: no farewell, recommendation: add one}]\n"
	for rel, text := range map[string]string{
		"state.json": `{"phase": "fixing", "last_event": "review_failed", "product_manager": false, "subplan_count": 1,
  "completed_subplans": [], "review_iteration": 1, "implementation_group_total": 1, "implementation_group_index": 1,
  "implementation_group_mode": null, "implementation_active_plan_ids": [], "implementation_completed_group_ids": ["core"],
  "updated_at": "2024-01-15T10:30:00+00:00", "updated_by": "pipeline", "feature_dir": "", "session_name": "agentmux-greet",
  "active_reviews": {"reviewer_logic": "completed"}, "feature_branch": "mine/greeting",
  "review_results": {"reviewer_logic": {"verdict": "fail", "review_text": "verdict: fail\n"}}}`,
		"requirements.md":        "# Requirements\n\n## Initial Request\n\nWrite a greeting.\n",
		"context.md":             "# Session\n",
		"tool_events.jsonl":      "",
		"04_planning/plan.md":    "One file.\n",
		"04_planning/plan_1.md":  "# One\n",
		"04_planning/tasks_1.md": "- [ ] a\n",
		"04_planning/execution_plan.yaml": "version: 2\nneeds_design: false\nneeds_docs: false\ndoc_files: []\ngroups:\n" +
			"  - {group_id: core, mode: serial, plans: [{file: plan_1.md, name: One}]}\n",
		"02_architecting/architecture.md":      "# Architecture\n",
		"07_review/review_reviewer_logic.yaml": failed,
		"07_review/review_0_reviewer_logic.md": "verdict: fail\n",
		"07_review/fix_request.md":             "# Fix\n",
	} {
		r.write(session+rel, text)
	}
	dir := r.earlier(session)
	s := r.run(host.RunSpec{Dir: dir, Resume: true})
	if s.Outcome != orchestrator.OutcomeDone {
		t.Fatalf("phase %s, outcome %s %s, cause %s", s.Phase, s.Outcome, s.OutcomeReason, s.Cause)
	}
	if got := r.git("ls-tree", "-r", "--name-only", s.FeatureBranch); got != "README.md\na.txt\nb.txt" {
		t.Errorf("files: %q", got)
	}
	if s.FeatureBranch != "mine/greeting" {
		t.Errorf("the branch is %s", s.FeatureBranch)
	}
	prompt, err := os.ReadFile(filepath.Join(dir, "07_review", "review_logic_prompt.md"))
	if err != nil || !strings.Contains(string(prompt), "What changed since then is not known") {
		t.Errorf("the reviewer's prompt, %v:\n%s", err, prompt)
	}
}

// earlier returns the directory of a session of the earlier tool, whose server ends with
// the test.
func (r *rig) earlier(session string) string {
	r.t.Helper()
	dir := filepath.Join(r.project, filepath.FromSlash(session))
	server, err := tmux.New(tmux.Options{Socket: place.Socket(filepath.Join(r.root, "r"), dir, nil)})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = server.KillServer(context.Background()) })
	if err := r.host.Adopt(r.t.Context(), dir, r.config); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Case 69: a dry run of either workflow sends no write and makes no session, and says
// what the run then does.
func TestGitHub69ADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	for workflow, first := range map[string]string{"quick": "planner", "feature": "architect"} {
		t.Run(workflow, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: quickPlaybook})
			refs := r.git(r.clone, "for-each-ref")
			res := r.expect(0, "issue", "1", "--workflow", workflow, "--headless", "--dry-run")
			if log := r.github.Log(); len(log) != 0 {
				t.Errorf("writes: %+v", log)
			}
			if _, err := os.Stat(filepath.Join(r.clone, ".agentmux")); err == nil || r.git(r.clone, "for-each-ref") != refs {
				t.Error("the clone was written to")
			}
			for _, dir := range []string{"workspaces", "homes"} {
				if _, err := os.Stat(filepath.Join(r.dir, "home", ".local", "state", "agentmux", dir)); err == nil {
					t.Errorf("%s was made", dir)
				}
			}
			for _, want := range []string{
				"branch     agentmux/issue-1-say-two\n", "prompt of " + first, "Both files should say two.", "reviewer_logic",
				"  | Closes #1\n", "variables: ", "nothing was written",
			} {
				if !strings.Contains(res.out, want) {
					t.Errorf("the plan lacks %q", want)
				}
			}
			for _, bad := range []string{r.github.Token(rigBot), "<scratch>/.agentmux", r.dir + "/amx"} {
				if strings.Contains(res.out, bad) {
					t.Errorf("the plan shows %q", bad)
				}
			}
			if t.Failed() {
				t.Log(res.out)
			}
		})
	}
}

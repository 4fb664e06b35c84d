package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// The largest plan and the largest reviews of three roles: their texts are in blobs, and
// the state names them.
func TestProtocolS7TheLargestPlanAndReviews(t *testing.T) {
	part := 1
	if testing.Short() {
		part = 5
	}
	long := strings.Repeat("x", 19_000)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, "feature", nil)
		w.play = func(w *world, e orchestrator.Effect) {
			role := e.Args.Role
			switch {
			case role == "architect":
				w.write("02_architecting/architecture.md", "# Architecture\n"+strings.Repeat("All of it.\n", 90_000/part))
				w.submit(e.Args.Launch, "submit_architecture", `{"reviewers":["reviewer_logic","reviewer_quality","reviewer_expert"]}`)
			case role == "planner":
				w.write("04_planning/plan.yaml", largePlan(50/part, long))
				w.submit(e.Args.Launch, "submit_plan", `{}`)
			case strings.HasPrefix(role, "reviewer"):
				text := "verdict: fail\nsummary: No.\nfindings:\n" + strings.Repeat("  - {issue: "+long+", recommendation: "+long+"}\n", 27/part)
				w.write(artifact.ReviewFile("07_review", role), text)
				w.submit(e.Args.Launch, "submit_review", `{"role":"`+role+`","verdict":"fail"}`)
			case role == "coder" && e.Args.Task != "":
				honest(w, e)
			}
		}
		w.start(engine.Options{})
		st := w.until("fixing", func(st *orchestrator.State) bool { return st.Phase == "fixing" && len(st.Pending) == 0 })
		info, err := os.Stat(w.s.Path(session.StateFile))
		if err != nil || info.Size() > 1<<20/int64(part) {
			t.Errorf("the state has %d bytes, %v", info.Size(), err)
		}
		if len(st.ReviewResults) != 3 {
			t.Fatalf("reviews: %+v", st.ReviewResults)
		}
		kept := map[string]string{"plan": st.PlanSHA256}
		for role, res := range st.ReviewResults {
			kept[role] = res.SHA256
		}
		for what, sha := range kept {
			if text, err := w.s.Blob(sha); err != nil || len(text) < 900_000/part || !strings.Contains(string(text), long) {
				t.Errorf("%s: %d bytes, %v", what, len(text), err)
			}
		}
		if text, err := os.ReadFile(w.s.Path(session.EventsFile)); err != nil || strings.Contains(string(text), long) {
			t.Errorf("the records hold a text: %v", err)
		}
	})
}

// largePlan has one serial group of n subplans.
func largePlan(n int, long string) string {
	var refs, subplans strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&refs, "{index: %d, name: n}, ", i)
		fmt.Fprintf(&subplans, "  - {index: %d, title: t, scope: %s, owned_files: [f%d/], dependencies: none,\n"+
			"     implementation_approach: a, acceptance_criteria: c, tasks: [t]}\n", i, long, i)
	}
	return "version: 2\nplan_overview: All\nneeds_design: false\nneeds_docs: false\ndoc_files: []\ngroups:\n  - {group_id: g, mode: serial, plans: [" +
		strings.TrimSuffix(refs.String(), ", ") + "]}\nsubplans:\n" + subplans.String()
}

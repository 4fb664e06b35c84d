package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// S6, R4: a directory of the earlier tool, failed while one reviewer was at work, whose
// verdict nobody read.
func TestProtocolS6AClassicVerdictIsIngested(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := earlierWorld(t, map[string]string{
			"state.json": `{"phase": "failed", "last_event": "run_failed", "product_manager": false, "subplan_count": 1,
				"completed_subplans": [1], "review_iteration": 0}`,
			"tool_events.jsonl":               `{"tool": "submit_architecture", "timestamp": "2024-01-15T10:15:30+00:00", "payload": {}}` + "\n",
			"tool_event_state.json":           `{"applied_offset": 89, "version": 2}`,
			"04_planning/plan_1.md":           "# One\n",
			"04_planning/execution_plan.yaml": "groups:\n  - {group_id: core, mode: serial, plans: [{file: plan_1.md, name: One}]}\n",
			"06_implementation/done_1":        "",
			"07_review/review.yaml":           "verdict: pass\nsummary: Fine.\n",
		})
		st := w.start(engine.Options{Start: earlierStart()}).wait()
		if st.Outcome != "done" || st.ReviewResults["reviewer_logic"].Verdict != "pass" {
			t.Fatalf("phase %s, outcome %s, reviews %v", st.Phase, st.Outcome, st.ReviewResults)
		}
		if got := w.launches(); len(got) != 1 {
			t.Errorf("launches are %v; only the summary was to be written", got)
		}
		if from := w.events(orchestrator.EvResumed)[0].Data.(orchestrator.ResumedRecord); from.From != "failed" || from.To != "reviewing" || !from.Inferred {
			t.Errorf("resumed %v", from)
		}
		w.pass(time.Second)
	})
}

// S1: the example files of the earlier tool, byte for byte, are resumed and finish: with
// their plan at the second subplan, without it at a new plan.
func TestProtocolS1TheExamplesFinish(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		from  string
		roles []string
	}{
		"with plan.yaml": {map[string]string{"plan.yaml": "04_planning/plan.yaml"}, "implementing", []string{"coder", "reviewer_logic", "reviewer_logic"}},
		"with execution_plan.yaml": {map[string]string{"execution_plan.yaml": "04_planning/execution_plan.yaml",
			"plan.yaml": "04_planning/plan_1.md", "review.yaml": "04_planning/plan_2.md"}, "implementing", []string{"coder", "reviewer_logic", "reviewer_logic"}},
		"without": {nil, "planning", []string{"planner", "coder", "coder", "coder", "reviewer_logic", "reviewer_logic"}},
	} {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T) { finishExamples(t, c.files, c.from, c.roles) }) })
	}
}

func finishExamples(t *testing.T, files map[string]string, from string, roles []string) {
	dir := filepath.Join(t.TempDir(), ".agentmux", ".sessions", "20240115-103000-my-feature")
	for _, name := range []string{"state.json", "tool_events.jsonl", "tool_event_state.json", "created_files.log", "runtime_state.json"} {
		copyExample(t, name, filepath.Join(dir, name))
	}
	for name, rel := range files {
		copyExample(t, name, filepath.Join(dir, filepath.FromSlash(rel)))
	}
	s, err := session.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Lock(0); err != nil {
		t.Fatal(err)
	}
	w := worldOf(t, s)
	st := w.start(engine.Options{Start: orchestrator.Start{Classic: &orchestrator.ClassicDir{
		Base: "head", Branch: "agentmux/my-feature", Integrated: orchestrator.Integrated{Commit: "snap", Tree: "tree"},
	}}}).wait()
	if st.Outcome != "done" || st.IsClassic() || st.Completion.Commit == "" {
		t.Fatalf("phase %s, outcome %s %s", st.Phase, st.Outcome, st.OutcomeReason)
	}
	if got := w.events(orchestrator.EvResumed)[0].Data.(orchestrator.ResumedRecord).To; got != from {
		t.Errorf("resumed in %v, want %s", got, from)
	}
	var launched []string
	for _, launch := range w.launches() {
		parts, _ := launch.Parts()
		launched = append(launched, parts.Role)
	}
	if !slices.Equal(launched, roles) {
		t.Errorf("launched %v, want %v", w.launches(), roles)
	}
}

func copyExample(t *testing.T, name, file string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "session", "testdata", "classic", name))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

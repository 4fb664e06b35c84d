package engine_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// earlierFiles are the files of a session of the earlier tool up to a point of its run.
func earlierFiles(upTo string) map[string]string {
	files := map[string]string{
		"requirements.md": "# Requirements\n\n## Initial Request\n\nWrite a greeting.\n", "context.md": "# Session\n",
		"tool_events.jsonl": "", "created_files.log": "",
	}
	for _, step := range []struct {
		name  string
		files map[string]string
	}{
		{"architecture", map[string]string{"02_architecting/architecture.md": "# Architecture\n", "tool_events.jsonl": arrived("submit_architecture", "")}},
		{"plan", map[string]string{
			"tool_events.jsonl":               arrived("submit_plan", ""),
			"04_planning/execution_plan.yaml": "groups:\n  - {group_id: core, mode: serial, plans: [{file: plan_1.md, name: One}]}\n",
			"04_planning/plan_1.md":           "# One\n",
		}},
		{"code", map[string]string{"tool_events.jsonl": arrived("submit_done", `"subplan_index": 1`), "06_implementation/done_1": ""}},
		{"fail", map[string]string{
			"tool_events.jsonl":                    arrived("submit_review", ""),
			"07_review/review_reviewer_logic.yaml": earlierFail,
			"07_review/review_0_reviewer_logic.md": "verdict: fail\n",
		}},
	} {
		for rel, text := range step.files {
			files[rel] += text
		}
		if step.name == upTo {
			break
		}
	}
	files["tool_event_state.json"] = fmt.Sprintf(`{"applied_offset": %d}`, len(files["tool_events.jsonl"]))
	return files
}

func arrived(tool, payload string) string {
	return fmt.Sprintf(`{"tool": %q, "timestamp": "2024-01-15T10:15:30+00:00", "payload": {%s}}`+"\n", tool, payload)
}

const (
	earlierFail = "verdict: fail\nsummary: A mistake.\nfindings: [{issue: wrong, recommendation: mend it}]\n"
	earlierPass = "verdict: pass\nsummary: Fine.\ncommit_message: \"feat: greet\"\n"
)

type earlierPoint struct {
	upTo  string
	state string            // what differs from the state of every session
	files map[string]string // besides those of upTo; "" takes one away
	to    string            // the phase the session goes on in
	roles []string          // launched from there
	end   string
	last  string // the file that was written last
}

const reviewAndSummary = "reviewer_logic reviewer_logic"

// R4, S6: each point at which a session of the earlier tool may have stopped is resumed in
// its phase, with what was read and what nobody had read yet, and comes to its end.
func TestProtocolR4EveryStoppingPointOfTheEarlierTool(t *testing.T) {
	failed := `"review_results": {"reviewer_logic": {"verdict": "fail", "review_text": "verdict: fail\n"}}, "active_reviews": {"reviewer_logic": "completed"}`
	passed := strings.ReplaceAll(failed, "fail", "pass")
	for name, c := range map[string]earlierPoint{
		"architecting": {"", `"phase": "architecting"`, nil, "architecting", words("architect planner coder coder coder " + reviewAndSummary), "done", ""},
		"planning":     {"architecture", `"phase": "planning"`, nil, "planning", words("planner coder coder coder " + reviewAndSummary), "done", ""},
		"implementing": {"plan", `"phase": "implementing", "implementation_group_total": 1, "implementation_group_index": 1,
			"implementation_group_mode": "serial", "implementation_active_plan_ids": ["plan_1"]`, nil, "implementing", words("coder " + reviewAndSummary), "done", ""},
		"reviewing, nothing handed in": {"code", `"phase": "reviewing", "active_reviews": {"reviewer_logic": "pending"}, "review_results": {}`,
			nil, "reviewing", words(reviewAndSummary), "done", ""},
		"reviewing, a verdict read and one missing": {"code", `"phase": "reviewing", "reviewer_nominations": ["reviewer_logic", "reviewer_quality"],
			"active_reviews": {"reviewer_logic": "completed", "reviewer_quality": "pending"}, "review_results": {"reviewer_logic": {"verdict": "pass", "review_text": "x"}}`,
			map[string]string{"07_review/review_reviewer_logic.yaml": earlierPass, "07_review/review_0_reviewer_logic.md": "verdict: pass\n"},
			"reviewing", words("reviewer_quality reviewer_logic"), "done", ""},
		"reviewing, a fail read": {"fail", `"phase": "reviewing", ` + failed, nil, "reviewing", words("coder " + reviewAndSummary), "done", ""},
		"awaiting the summary": {"code", `"phase": "reviewing", "awaiting_summary": true, ` + passed,
			map[string]string{"07_review/review_reviewer_logic.yaml": earlierPass}, "reviewing", words("reviewer_logic"), "done", ""},
		"fixing": {"fail", `"phase": "fixing", "review_iteration": 1, ` + failed,
			map[string]string{"07_review/fix_request.md": "# Fix\n", "06_implementation/done_1": absent}, "fixing", words("coder " + reviewAndSummary), "done", ""},
		"fixing, the marker of the first round still there": {"fail", `"phase": "fixing", "review_iteration": 1, ` + failed,
			map[string]string{"07_review/fix_request.md": "# Fix\n"}, "fixing", words("coder " + reviewAndSummary), "done", ""},
		"fixing, handed in by a marker": {"fail", `"phase": "fixing", "review_iteration": 1, ` + failed,
			map[string]string{"07_review/fix_request.md": "# Fix\n"}, "fixing", words(reviewAndSummary), "done", "06_implementation/done_1"},
		"failed behind the fix": {"fail", `"phase": "failed", "last_event": "run_failed", "review_iteration": 1, ` + failed,
			map[string]string{"07_review/fix_request.md": "# Fix\n"}, "reviewing", words(reviewAndSummary), "done", "06_implementation/done_1"},
		"reviewing again, handed in and not read": {"fail", `"phase": "reviewing", "review_iteration": 1, "review_results": {}, "active_reviews": {"reviewer_logic": "pending"}`,
			map[string]string{"07_review/fix_request.md": "# Fix\n", "07_review/review_reviewer_logic.yaml": earlierPass}, "reviewing", words("reviewer_logic"), "done",
			"07_review/review_reviewer_logic.yaml"},
		"fixing, its verdict file gone": {"fail", `"phase": "fixing", "review_iteration": 1, ` + failed,
			map[string]string{"07_review/fix_request.md": "# Fix\n", "07_review/review_reviewer_logic.yaml": ""},
			"fixing", words("coder " + reviewAndSummary), "done", ""},
		"reviewing again": {"fail", `"phase": "reviewing", "review_iteration": 1, ` + failed,
			map[string]string{"07_review/fix_request.md": "# Fix\n"}, "reviewing", words(reviewAndSummary), "done", ""},
		"completing": {"code", `"phase": "completing", ` + passed, map[string]string{
			"07_review/review_reviewer_logic.yaml": earlierPass, "08_completion/summary.md": "## What\n"}, "completing", nil, "done", ""},
		"completing after the last round failed": {"fail", `"phase": "completing", ` + failed, nil, "completing", nil, "needs_human", ""},
		"changes were asked for": {"code", `"phase": "planning"`, map[string]string{"08_completion/changes.md": "Say goodbye, too.\n"},
			"planning", words("planner coder coder coder " + reviewAndSummary), "done", ""},
		"failed in the fix": {"fail", `"phase": "failed", "last_event": "run_failed", "review_iteration": 1, ` + failed,
			map[string]string{"07_review/fix_request.md": "# Fix\n", "06_implementation/done_1": absent}, "fixing", words("coder " + reviewAndSummary), "done", ""},
		"canceled in the completion": {"code", `"phase": "failed", "last_event": "run_canceled", ` + passed, map[string]string{
			"07_review/review_reviewer_logic.yaml": earlierPass, "08_completion/summary.md": "## What\n"}, "completing", nil, "done", ""},
	} {
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T) { c.resume(t) }) })
	}
}

const absent = "\x00"

func words(text string) []string { return strings.Fields(text) }

func (c earlierPoint) resume(t *testing.T) {
	files := earlierFiles(c.upTo)
	maps.Copy(files, c.files)
	maps.DeleteFunc(files, func(rel, text string) bool {
		return text == absent || strings.HasSuffix(rel, ".yaml") && text == ""
	})
	files["state.json"] = `{` + c.state + `, "product_manager": false, "subplan_count": 1, "completed_subplans": [],
		"feature_dir": "/old", "session_name": "agentmux-old", "implementation_single_coder": false}`
	w := earlierWorld(t, files)
	order := []string{"06_implementation/done_1", "07_review/review_reviewer_logic.yaml", "07_review/review_0_reviewer_logic.md", "07_review/fix_request.md", c.last}
	for i, rel := range order {
		at := time.Now().Add(time.Duration(i-len(order)) * time.Minute)
		if err := os.Chtimes(w.s.Path(rel), at, at); rel != "" && files[rel] != "" && err != nil {
			t.Fatal(err)
		}
	}
	st := w.start(engine.Options{Start: earlierStart()}).wait()
	if string(st.Outcome) != c.end {
		t.Errorf("phase %s, outcome %s %s %s, want %s", st.Phase, st.Outcome, st.OutcomeReason, st.Cause, c.end)
	}
	if to := w.events(orchestrator.EvResumed)[0].Data.(orchestrator.ResumedRecord).To; to != c.to {
		t.Errorf("resumed in %v, want %s", to, c.to)
	}
	var roles []string
	for _, launch := range w.launches() {
		parts, _ := launch.Parts()
		roles = append(roles, parts.Role)
	}
	if !slices.Equal(roles, c.roles) {
		t.Errorf("launched %v, want %v", w.launches(), c.roles)
	}
	for role, res := range st.ReviewResults {
		if res.SHA256 == "" || c.end == "done" && res.Tree != st.Integrated.Tree {
			t.Errorf("verdict of %s is %+v, the tree is %s", role, res, st.Integrated.Tree)
		}
	}
	if texts := w.events(orchestrator.EvEffectFailed); len(texts) > 0 {
		t.Errorf("failed: %+v", texts)
	}
}

package decide_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

// J7: a verdict that was written for the round before, without a launch or under the name
// of the present one, is no verdict on what is reviewed now.
func TestProtocolJ7AVerdictOfAnEarlierVisitDoesNotCount(t *testing.T) {
	m := rerun(t, "failed")
	now := m.s.Visit
	for i, launch := range []orchestrator.Launch{"", m.s.Agents["reviewer_logic"].Launch} {
		for earlier := range now {
			m.do(orchestrator.Input{Kind: orchestrator.InTool, Line: &orchestrator.Line{
				Tool: "submit_review", ID: "late" + string(rune('a'+i)) + string(rune('a'+earlier)), Role: "reviewer_logic",
				Launch: launch, Visit: &earlier, Payload: []byte(`{"role": "reviewer_logic"}`), Artifact: review("reviewer_logic", "pass"),
			}})
			if reason := m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord).Reason; reason != "stale" {
				t.Errorf("visit %d of %d: %v", earlier, now, reason)
			}
		}
	}
	if m.s.ActiveReviews["reviewer_logic"] != orchestrator.ReviewPending {
		t.Errorf("the review is %s", m.s.ActiveReviews["reviewer_logic"])
	}
	m.pass("reviewer_logic")
}

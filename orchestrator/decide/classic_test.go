package decide_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

// What a person wants different when they continue a session of the earlier tool is done, as in any other session.
func TestAClassicSessionTakesChangesAndABase(t *testing.T) {
	asks := func(s *orchestrator.Start) { s.Changes, s.Base = "Also b.", "next" }
	m := classicSim(t, classicImplementing, classicFiles(), nil, asks)
	m.phase("planning")
	if m.s.ChangeRequest != "Also b." || m.s.ChangeRound != 1 || m.s.BaseBranch != "next" {
		t.Errorf("asked for %q in round %d, for the branch %q", m.s.ChangeRequest, m.s.ChangeRound, m.s.BaseBranch)
	}
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{}})
	if m.s.Agents["planner"].Launch == "" {
		t.Errorf("agents %+v", m.s.Agents)
	}
	m = classicSim(t, `{"phase": "done", "last_event": "pr_approved"}`, classicFiles(), nil, asks)
	m.phase("done")
	if m.s.ChangeRequest != "" {
		t.Errorf("one that is done takes %q", m.s.ChangeRequest)
	}
}

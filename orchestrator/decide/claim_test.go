package decide_test

import (
	"slices"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

// C15: the loss of the claim ends the run as canceled. The agents stop, and what they had not
// submitted is kept once they are gone. A resume takes the session up again.
func TestProtocolC15TheLossOfTheClaimEndsTheRun(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("serial", 2)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStopAgent }
	m.do(orchestrator.Input{Kind: orchestrator.InClaimLost, Host: "h_0123456789abcdef"})
	if m.s.Outcome != orchestrator.OutcomeCanceled || m.s.OutcomeReason != orchestrator.ReasonClaimLost || m.s.Cause != "host h_0123456789abcdef took over" {
		t.Errorf("outcome %q, reason %q, cause %q", m.s.Outcome, m.s.OutcomeReason, m.s.Cause)
	}
	if d, _ := m.last(orchestrator.EvClaimLost).Data.(orchestrator.ClaimLostRecord); d.Host != "h_0123456789abcdef" {
		t.Errorf("record %+v", d)
	}
	var stop, keep orchestrator.Effect
	for _, e := range m.s.Pending {
		switch e.Type {
		case orchestrator.EffStopAgent:
			stop = e
		case orchestrator.EffPreserve:
			keep = e
		case orchestrator.EffCheckpoint:
		default:
			t.Errorf("%s is still wanted", e.Type)
		}
	}
	if stop.Args.Launch != "2.coder.1.1" {
		t.Errorf("the agent is not stopped: %+v", stop)
	}
	if keep.Args.Workspace != m.own("1") || keep.Args.Task != "1" || !slices.Contains(keep.After, stop.ID) {
		t.Errorf("its work is not kept behind its end: %+v", keep)
	}
	m.do(orchestrator.Input{Kind: orchestrator.InClaimLost, Host: "h_0123456789abcdef"})
	if n := m.count(orchestrator.EvClaimLost); n != 1 {
		t.Errorf("%d records of the loss", n)
	}
	m.hold = nil
	m.settle()
	m.resume("")
	m.phase("implementing")
	if m.s.Outcome != "" || m.s.OutcomeReason != "" {
		t.Errorf("after the resume: %q, %q", m.s.Outcome, m.s.OutcomeReason)
	}
}

// What the session had pushed and proposed is not undone: its end stays what it was.
func TestALossAfterTheEndChangesNothing(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.toEnd()
	m.do(orchestrator.Input{Kind: orchestrator.InClaimLost, Host: "h_0123456789abcdef"})
	if m.s.Outcome != orchestrator.OutcomeDone || m.count(orchestrator.EvClaimLost) != 0 {
		t.Errorf("outcome %q, %d records", m.s.Outcome, m.count(orchestrator.EvClaimLost))
	}
}

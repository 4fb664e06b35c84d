package decide_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// A person approves what they were shown, not what has come in its place.
func TestGitHub57ApproveOfAPlanThatChangedIsRefused(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApprovePlan = true })
	submit := func(digest string) string {
		t.Helper()
		p := plan("serial", 1, false)
		p.SHA256 = strings.Repeat(digest, 32)
		m.tool("submit_plan", "planner", map[string]any{}, p)
		return m.s.GateDigest()
	}
	first := submit("a1")
	m.command("changes", map[string]any{"text": "smaller"})
	second := submit("b2")
	if m.s.Gate == nil || first == second || len(second) < 12 {
		t.Fatalf("gate %v, plans %s and %s", m.s.Gate, first, second)
	}
	m.refused("approve", map[string]any{"of": first[:12]})
	reason := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason
	if m.s.Gate == nil || !strings.Contains(reason, second[:12]) {
		t.Errorf("gate %v, reason %q", m.s.Gate, reason)
	}
	for n := range duty.MinDigest { // too little to tell two apart, and said so
		if n == 0 {
			continue
		}
		m.refused("approve", map[string]any{"of": second[:n]})
		reason := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason
		if !strings.Contains(reason, "too short") || !strings.Contains(reason, second[:12]) {
			t.Errorf("%d digits: %q", n, reason)
		}
	}
	m.command("approve", map[string]any{"of": strings.ToUpper(second[:12])})
	m.phase("implementing")
}

func TestGitHub57ApproveOfATreeThatChangedIsRefused(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApproveCompletion = true })
	m.toEnd()
	if m.s.Gate == nil || m.s.Integrated.Tree == "" {
		t.Fatalf("gate %v, tree %q", m.s.Gate, m.s.Integrated.Tree)
	}
	m.refused("approve", map[string]any{"of": "0000000"})
	m.command("approve", map[string]any{"of": m.s.GateDigest()})
	m.phase(orchestrator.PhaseDone)
}

// A message to an agent that is not at work is refused with a reason; one whose agent ends
// before it could be told waits for the next one, and is on record all the way.
func TestGitHub58SayToADeadPane(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.refused("say", map[string]any{"text": "look", "role": "coder"})
	if reason := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason; !strings.Contains(reason, "no coder is at work") {
		t.Errorf("reason %q", reason)
	}
	m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliveryRefused})
	m.command("say", map[string]any{"text": "look"})
	message := m.s.Messages[0]
	if message.State != orchestrator.MessageQueued || m.count(orchestrator.EvMsgQueued) == 0 || m.count(orchestrator.EvMsgDelivered) != 0 {
		t.Fatalf("message %+v", message)
	}
	if _, again := m.s.Deadlines["message/1"]; !again {
		t.Error("nobody tries again")
	}
}

package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

func TestProtocolT7RefusedMessagesAreTriedAgainIndeterminateOnesNot(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliveryRefused})
	m.command("say", map[string]any{"text": "look\nat this"})
	if m.s.Messages[0].Headline != "look" {
		t.Errorf("headline %q", m.s.Messages[0].Headline)
	}
	for _, pause := range []time.Duration{5, 10, 20, 40, 60, 60} {
		if got := m.s.Deadlines["message/1"].Sub(m.now); got != pause*time.Second {
			t.Fatalf("tried again after %s, want %s", got, pause*time.Second)
		}
		m.timer("message/1")
	}
	m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliveryIndeterminate})
	m.timer("message/1")
	if m.s.Messages[0].State != orchestrator.MessageDelivered {
		t.Fatalf("message %+v", m.s.Messages[0])
	}
	if _, again := m.s.Deadlines["message/1"]; again {
		t.Error("an indeterminate paste is repeated")
	}
}

func TestAMessageIsAcknowledgedOrFails(t *testing.T) {
	start := func(t *testing.T) *sim {
		m := newSim(t, "quick", nil)
		m.command("say", map[string]any{"text": "look"})
		if m.s.Messages[0].State != orchestrator.MessageDelivered {
			t.Fatalf("message %+v", m.s.Messages[0])
		}
		return m
	}
	t.Run("read", func(t *testing.T) {
		m := start(t)
		m.tool("msg_read", "planner", map[string]any{"file": m.s.Messages[0].File}, nil)
		if m.s.Messages[0].State != orchestrator.MessageAcked || m.count(orchestrator.EvMsgAcked) != 1 {
			t.Fatalf("message %+v", m.s.Messages[0])
		}
		if _, armed := m.s.Deadlines["ack/1"]; armed {
			t.Error("still waited for")
		}
	})
	t.Run("by a hook", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliverySent, Mode: orchestrator.ModeHook})
		m.command("say", map[string]any{"text": "look"})
		if m.s.Messages[0].State != orchestrator.MessageAcked {
			t.Fatalf("message %+v", m.s.Messages[0])
		}
	})
	t.Run("never: once more, then failed", func(t *testing.T) {
		m := start(t)
		m.timer("ack/1")
		if m.count(orchestrator.EvMsgDelivered) != 2 {
			t.Fatalf("%d deliveries", m.count(orchestrator.EvMsgDelivered))
		}
		m.timer("ack/1")
		if m.s.Messages[0].State != orchestrator.MessageFailed || m.count(orchestrator.EvMsgFailed) != 1 {
			t.Fatalf("message %+v", m.s.Messages[0])
		}
	})
	t.Run("its agent is finished", func(t *testing.T) {
		m := start(t)
		m.planned("serial", 1)
		m.timer("ack/1")
		if m.s.Messages[0].State != orchestrator.MessageDelivered || m.count(orchestrator.EvMsgDelivered) != 1 {
			t.Fatalf("message %+v", m.s.Messages[0])
		}
	})
	t.Run("of another agent", func(t *testing.T) {
		m := start(t)
		m.tool("msg_read", "coder/1", map[string]any{"file": m.s.Messages[0].File}, nil)
		if m.s.Messages[0].State != orchestrator.MessageDelivered {
			t.Error("acknowledged by another agent")
		}
	})
}

func TestTheSenderOfAFailedMessageIsTold(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("parallel", 2)
	m.command("say", map[string]any{"text": "look", "role": "coder/1"})
	m.s.Messages[0].From = "pipeline/coder-2"
	m.timer("ack/1")
	m.timer("ack/1")
	if n := len(m.s.Messages); n != 2 || m.s.Messages[1].To != "pipeline/coder-2" || m.s.Messages[0].State != orchestrator.MessageFailed {
		t.Fatalf("messages %+v", m.s.Messages)
	}
}

func TestADeliveryThatCannotBeMadeFails(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver }
	m.command("say", map[string]any{"text": "look"})
	m.failing(orchestrator.EffDeliver, orchestrator.FailNever)
	if m.s.Messages[0].State != orchestrator.MessageFailed || m.s.Ended() {
		t.Fatalf("message %+v, outcome %q", m.s.Messages[0], m.s.Outcome)
	}
}

// failing gives a failed try of the pending effect of a type.
func (m *sim) failing(kind, class string) {
	m.t.Helper()
	for _, e := range m.s.Pending {
		if e.Type == kind {
			m.do(orchestrator.Input{Kind: orchestrator.InEffectFailed, Effect: &orchestrator.Outcome{ID: e.ID, Error: "broken", Class: class}})
			return
		}
	}
	m.t.Fatalf("no %s is pending: %+v", kind, m.s.Pending)
}

func TestAMessageExpiresAtItsDeadline(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.command("pause", nil)
	m.command("say", map[string]any{"text": "look"})
	m.s.Messages[0].Deadline = orchestrator.At(m.now.Add(time.Minute))
	m.resume("")
	// The pause is over, but the agent takes nothing.
	if m.s.Messages[0].State != orchestrator.MessageDelivered {
		t.Fatalf("message %+v", m.s.Messages[0])
	}
	m = newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliveryRefused})
	m.command("say", map[string]any{"text": "look"})
	m.s.Messages[0].Deadline = orchestrator.At(m.now.Add(time.Minute))
	m.resume("")
	m.timer("expire/1")
	if m.s.Messages[0].State != orchestrator.MessageExpired || m.count(orchestrator.EvMsgExpired) != 1 {
		t.Fatalf("message %+v", m.s.Messages[0])
	}
	m.fire("message/1")
	m.fire("ack/1")
	m.fire("message/nothing")
}

func TestUndeliveredMessagesAreOrphansAtTheEnd(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliveryRefused})
	m.command("say", map[string]any{"text": "look"})
	m.toEnd()
	m.phase(orchestrator.PhaseDone)
	if m.s.Messages[0].State != orchestrator.MessageOrphan || m.count(orchestrator.EvMsgOrphaned) != 1 {
		t.Fatalf("message %+v", m.s.Messages[0])
	}
}

func TestMessagesSurviveAResume(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffDeliver, orchestrator.Result{Delivery: orchestrator.DeliveryRefused})
	m.command("say", map[string]any{"text": "look"})
	m.command("stop", nil)
	if m.s.Messages[0].State != orchestrator.MessageQueued {
		t.Fatalf("message %+v", m.s.Messages[0])
	}
	m.result = nil
	m.resume("")
	if m.s.Messages[0].State != orchestrator.MessageDelivered {
		t.Fatalf("message %+v", m.s.Messages[0])
	}
	if _, armed := m.s.Deadlines["ack/1"]; !armed {
		t.Error("nobody waits for the receipt")
	}
	m.resume("")
	if _, armed := m.s.Deadlines["ack/1"]; !armed {
		t.Error("nobody waits for the receipt after a second resume")
	}
}

func TestSayFindsItsAgent(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("parallel", 2)
	m.refused("say", nil)
	m.refused("say", map[string]any{"text": "x", "role": "planner"})
	if reason := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason; !strings.Contains(reason, "coder/1, coder/2") {
		t.Errorf("reason %q", reason)
	}
	m.command("say", map[string]any{"text": "x", "role": "coder/2"})
	if m.s.Messages[0].To != "pipeline/coder-2" {
		t.Errorf("message %+v", m.s.Messages[0])
	}
}

package decide_test

import (
	"fmt"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows/message"
)

// states of the messages in the order in which they came.
func (m *sim) states() (states []string) {
	for _, found := range m.s.Messages {
		states = append(states, found.State)
	}
	return states
}

func (m *sim) wantStates(when string, want ...string) {
	m.t.Helper()
	if got := m.states(); fmt.Sprint(got) != fmt.Sprint(want) {
		m.t.Errorf("%s: %q, want %q", when, got, want)
	}
}

const (
	queuedMail    = orchestrator.MessageQueued
	deliveredMail = orchestrator.MessageDelivered
)

// The files of a batch wait for one another, and hold up no other message. They are delivered in their
// order.
func TestProtocolT9ABatchIsDeliveredTogether(t *testing.T) {
	m := newTeam(t, pair, nil)
	part := func(n int) *message.Letter {
		return letter("shop/api", "shop/page", message.Message{Headline: fmt.Sprint("part ", n), Batch: "b", BatchSize: 3})
	}
	m.lays(part(1))
	m.lays(letter("shop/api", "shop/page", message.Message{Headline: "alone"}))
	m.lays(letter("else/where", "shop/page", message.Message{Headline: "another's", Batch: "b", BatchSize: 2}))
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "proven"})) // not of the batch of a claimed sender
	m.lays(part(2))
	m.wantStates("two of three", queuedMail, deliveredMail, queuedMail, deliveredMail, queuedMail)
	m.lays(part(3))
	m.wantStates("three of three", deliveredMail, deliveredMail, queuedMail, deliveredMail, deliveredMail, deliveredMail)
	var order []int
	for _, e := range m.events {
		if d, ok := e.Data.(orchestrator.MsgDeliveredRecord); ok {
			order = append(order, d.Seq)
		}
	}
	if fmt.Sprint(order) != "[2 4 1 5 6]" {
		t.Errorf("delivered in the order %v", order)
	}
	m.timer("message/3")
	if got := m.mail("another's"); got.State != deliveredMail {
		t.Errorf("after its time %+v", got)
	}
}

// A batch that is not complete waits for a minute, also where the host was away meanwhile.
func TestProtocolT9ABatchWaitsForAMinute(t *testing.T) {
	m := newTeam(t, pair, nil)
	began := m.now
	m.lays(letter("shop/api", "shop/page", message.Message{Headline: "first", Batch: "b", BatchSize: 9}))
	m.command("pause", nil)
	m.command("resume", nil)
	m.wantStates("after a pause", queuedMail)
	m.timer("message/1")
	m.wantStates("after its time", deliveredMail)
	if waited := m.now.Sub(began).Seconds(); waited < 60 || waited > 70 {
		t.Errorf("waited %.0f s", waited)
	}
}

// A message takes the place of an earlier one of its sender that nobody has. Whom a file alone names as
// its sender takes back nothing that this one wrote.
func TestProtocolT9AMessageIsSuperseded(t *testing.T) {
	m := newTeam(t, pair, nil)
	refusing(m)
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "proven", ID: "x"}))
	m.lays(letter("shop/page", "shop/page", message.Message{Headline: "another's", ID: "x"}))
	m.lays(letter("shop/api", "shop/page", message.Message{Headline: "old", ID: "x"}))
	m.lays(letter("shop/api", "shop/page", message.Message{Headline: "new", ID: "y", Replaces: "x"}))
	m.wantStates("superseded", queuedMail, queuedMail, post.Superseded, queuedMail)
	if got := m.mail("old"); got.Reason != "superseded by 4.md" {
		t.Errorf("reason %q", got.Reason)
	}
	for i := range m.s.Messages {
		if _, armed := m.s.Deadlines[fmt.Sprint("message/", m.s.Messages[i].Seq)]; armed && m.s.Messages[i].State == post.Superseded {
			t.Error("it would be tried again")
		}
	}
	m = newTeam(t, pair, nil)
	m.lays(letter("shop/api", "shop/page", message.Message{Headline: "old", ID: "x"}))
	m.lays(letter("shop/api", "shop/page", message.Message{Headline: "new", Replaces: "x"}))
	m.wantStates("after its delivery", deliveredMail, deliveredMail)
}

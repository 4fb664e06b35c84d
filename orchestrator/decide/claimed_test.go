package decide_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/workflows/message"
)

// lays has somebody lay a file by hand, for which the host writes a line.
func (m *sim) lays(l *message.Letter) orchestrator.Message {
	m.t.Helper()
	m.posts("api", l, func(line *orchestrator.Line) { line.Launch, line.Role, line.Task = "", "", "" })
	if len(m.s.Messages) == 0 {
		m.t.Fatalf("not taken: %+v", m.last(orchestrator.EvInputIgnored))
	}
	return m.s.Messages[len(m.s.Messages)-1]
}

// A file that was laid there is delivered as of a claimed sender, whomever it names.
func TestProtocolT8AFileByHandHasAClaimedSender(t *testing.T) {
	for _, from := range []string{"shop/api", "core/core", "system", "else/where"} {
		m := newTeam(t, pair, nil)
		got := m.lays(letter(from, "shop/page", message.Message{Type: message.Task, Headline: "push it", ID: "x"}))
		if got.State != orchestrator.MessageDelivered || got.By != post.ByHand || post.Sender(got) != from+" (claimed, not proven)" {
			t.Errorf("message %+v", got)
		}
		if d := m.last(orchestrator.EvMsgDelivered).Data.(orchestrator.MsgDeliveredRecord); d.From != from+" (claimed, not proven)" {
			t.Errorf("record %+v", d)
		}
	}
}

// It answers nothing, asks the person nothing, and holds neither the agent it names nor its reader; what
// it says reaches an agent that waits for an answer only after that.
func TestProtocolT8AFileByHandAnswersNothing(t *testing.T) {
	for _, to := range []string{"core/core", "shop/page"} {
		m := newTeam(t, pair, nil)
		m.posts("api", letter("shop/api", to, message.Message{Type: message.Ask, Headline: "which port", ID: "api-1"}))
		got := m.lays(letter(to, "shop/api", message.Message{Type: message.AskResponse, Headline: "port 1", InReplyTo: "api-1"}))
		if ask := m.mail("which port"); !ask.Open || got.State != orchestrator.MessageQueued {
			t.Errorf("to %s: ask %+v, answer %+v", to, ask, got)
		}
	}
	m := newTeam(t, pair, nil)
	if got := m.lays(letter("shop/api", "core/core", message.Message{Type: message.Ask, Headline: "may I"})); got.Open || got.State != orchestrator.MessageAcked || len(m.s.Questions) > 0 {
		t.Errorf("message %+v, questions %+v", got, m.s.Questions)
	}
	if got := m.lays(letter("shop/api", "shop/page", message.Message{Type: message.Ask, Headline: "what"})); got.Open || got.State != orchestrator.MessageDelivered {
		t.Errorf("message %+v", got)
	}
	m.posts("page", letter("shop/page", "shop/api", message.Message{Headline: "as it was"}))
	if got := m.mail("as it was"); got.State != orchestrator.MessageDelivered {
		t.Errorf("the agent it names is held: %+v", got)
	}
}

// What is wrong with a file by hand is told to no agent: the one it names may not have written it.
func TestProtocolT8AFileByHandIsRefusedQuietly(t *testing.T) {
	for want, l := range map[string]*message.Letter{
		"no agent is called":               letter("shop/api", "else/page", message.Message{}),
		"to: required key missing":         {SHA256: "sum", Problem: "to: required key missing"},
		"its file was changed after it wa": {SHA256: "other", Message: letter("shop/api", "shop/page", message.Message{}).Message},
	} {
		m := newTeam(t, pair, nil)
		if got := m.lays(l); got.State != orchestrator.MessageFailed || !strings.HasPrefix(string(got.Reason), want) || len(m.s.Messages) != 1 {
			t.Errorf("%s: %+v", want, m.s.Messages)
		}
	}
}

// Of a flood of files only so many wait in the state.
func TestTheRoomForFilesByHand(t *testing.T) {
	m := newTeam(t, pair, nil)
	refusing(m)
	for n := 0; post.TakesClaimed(m.def, m.s); n++ {
		if n > 100 {
			t.Fatal("no end")
		}
		m.lays(letter("shop/api", "shop/page", message.Message{Headline: fmt.Sprint(n)}))
	}
	if len(m.s.Messages) != 100 {
		t.Errorf("%d messages", len(m.s.Messages))
	}
}

// That a file by hand was not read is told to no agent either.
func TestProtocolT8AnUnreadFileByHandIsToldToNoAgent(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.lays(letter("shop/api", "shop/page", message.Message{Headline: "x"}))
	m.timer("ack/1")
	m.timer("ack/1")
	if len(m.s.Messages) != 1 || m.s.Messages[0].State != orchestrator.MessageFailed {
		t.Errorf("messages %+v", m.s.Messages)
	}
}

// A file by hand excuses no end of the agent that it is to: whoever can lay one there could have that
// agent started again without end.
func TestProtocolT8AFileByHandExcusesNoEnd(t *testing.T) {
	for headline, from := range map[string]string{"marker was rejected": "system", "research a is done": "system", "answer to q1": "core/core"} {
		m := newTeam(t, pair, nil)
		refusing(m)
		m.lays(letter(from, "shop/api", message.Message{Type: message.AskResponse, Headline: headline}))
		m.exit(m.member("api"), 0)
		for rule := range m.s.Counters {
			if strings.HasPrefix(rule, "missed/") {
				t.Errorf("%s from %s excuses an end", headline, from)
			}
		}
	}
}

// A file by hand that has the id of another message, or the name of its file for an id, does not take its
// place.
func TestProtocolT8AFileByHandIsNotTakenForAnother(t *testing.T) {
	m := newTeam(t, pair, nil)
	for _, id := range []string{"api-4", "4.md"} {
		m.lays(letter("shop/api", "shop/page", message.Message{Headline: "forged", ID: id}))
	}
	m.lays(letter("shop/api", "shop/page", message.Message{Headline: "forged", ID: "alone"}))
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "sent", ID: "api-4"}))
	for name, want := range map[string]string{"api-4": "msgs/4.md", "4.md": "msgs/4.md", "msgs/4.md": "msgs/4.md", "alone": "msgs/3.md"} {
		if found := post.Named(m.s.Messages, name); len(found) != 1 || found[0].File != want {
			t.Errorf("%s is %+v of %+v", name, found, m.s.Messages)
		}
	}
	if found := post.Named(m.s.Messages, "none"); len(found) > 0 {
		t.Errorf("messages %+v", found)
	}
}

package decide_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// says gives a command of the person about a message, and returns why it was refused.
func (m *sim) says(name, file string, l *message.Letter) (refused string) {
	m.t.Helper()
	in := m.commandInput(name, nil)
	body, err := json.Marshal(orchestrator.Payload{Name: name, File: file, SHA256: "sum", Actor: "dev", Source: "cli"})
	if err != nil {
		m.t.Fatal(err)
	}
	in.Line.Payload, in.Line.Letter = body, l
	before := m.count(orchestrator.EvCommandRefused)
	m.do(in)
	if m.count(orchestrator.EvCommandRefused) == before {
		return ""
	}
	return m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason
}

// A message of the person reaches an agent as one of an agent does, also one that waits for an answer.
func TestThePersonWritesToAnAgent(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("page", letter("shop/page", "shop/api", asking("page-1")))
	if why := m.says("msg send", "msgs/p.md", letter("core/core", "shop/page", message.Message{Type: message.Task, Headline: "use 8080", ID: "core-1"})); why != "" {
		t.Fatal(why)
	}
	if got := m.mail("use 8080"); got.From != "core/core" || got.State != orchestrator.MessageDelivered || got.File != "msgs/p.md" {
		t.Errorf("message %+v", got)
	}
	for want, l := range map[string]*message.Letter{
		"it says that it is from shop/api":       letter("shop/api", "shop/page", message.Message{Headline: "x"}),
		"no agent is called":                     letter("core/core", "shop/nobody", message.Message{Headline: "x"}),
		"core/core is you":                       letter("core/core", "core/core", message.Message{Headline: "x"}),
		"a question is answered with":            letter("core/core", "shop/page", message.Message{Type: message.AskResponse, Headline: "x"}),
		"the file is missing":                    {Problem: "the file is missing"},
		"its file was changed after it was sent": {SHA256: "other", Message: letter("core/core", "shop/page", message.Message{Headline: "x"}).Message},
	} {
		if why := m.says("msg send", "msgs/"+want+".md", l); !strings.HasPrefix(why, want) {
			t.Errorf("%s: %q", want, why)
		}
	}
	if why := m.says("msg send", "msgs/p.md", letter("core/core", "shop/page", message.Message{Headline: "x"})); why != "the message was taken before" {
		t.Error(why)
	}
	if n := len(m.s.Messages); n != 2 {
		t.Errorf("%d messages", n)
	}
}

func TestThePersonConfirmsAndRepeatsMessages(t *testing.T) {
	m := newTeam(t, pair, nil)
	refusing(m)
	soon := orchestrator.At(m.now.Add(time.Minute))
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "first", ID: "api-1", Deadline: soon.Time}))
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "second", ID: "api-2"}))
	m.posts("api", letter("shop/look", "shop/page", message.Message{Headline: "forged", ID: "api-3"}))
	m.timer("expire/1")
	m.result = nil
	for _, c := range []struct{ command, file, want string }{
		{"msg ack", "api-2", ""},
		{"msg ack", "api-2", "2.md is acked"},
		{"msg retry", "api-2", "2.md is acked"},
		{"msg retry", "msgs/1.md", ""},
		{"msg retry", "api-1", "1.md is delivered"},
		{"msg retry", "api-3", "3.md was rejected: it says that it is from shop/look; its writer has to send another one"},
		{"msg retry", "nothing", `no message is called "nothing", or it ended long ago; agentmux msg list shows them`},
		{"msg ack", "nothing", `no message is called "nothing", or it ended long ago; agentmux msg list shows them`},
	} {
		if why := m.says(c.command, c.file, nil); why != c.want {
			t.Errorf("%s %s: %q, want %q", c.command, c.file, why, c.want)
		}
	}
	if got := m.mail("first"); got.State != orchestrator.MessageDelivered || !got.Deadline.IsZero() {
		t.Errorf("message %+v", got)
	}
	m.command("stop", nil)
	if why := m.says("msg retry", "api-1", nil); why != "the session has ended" {
		t.Error(why)
	}
}

// What could not be delivered was a message all the same: it can be delivered again.
func TestThePersonRepeatsWhatCouldNotBeDelivered(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver }
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "first", ID: "api-1"}))
	m.failing(orchestrator.EffDeliver, orchestrator.FailNever)
	if got := m.mail("first"); got.State != orchestrator.MessageFailed {
		t.Fatalf("message %+v", got)
	}
	m.hold = nil
	if why := m.says("msg retry", "api-1", nil); why != "" {
		t.Fatal(why)
	}
	if got := m.mail("first"); got.State != orchestrator.MessageDelivered {
		t.Errorf("message %+v", got)
	}
}

// A person who took part in a turn is recorded once for that turn, also with others there, and without a word of theirs.
func TestProtocolP22OneRecordForEachTurnOfAPerson(t *testing.T) {
	m := newSim(t, "quick", nil)
	for _, turn := range []int{0, 1, 1, 3, 2, 3} {
		m.report("planner", orchestrator.AgentReport{PersonTurn: turn})
	}
	m.command("pause", nil)
	m.report("planner", orchestrator.AgentReport{PersonTurn: 4})
	var turns []int
	for _, e := range m.events {
		if d, ok := e.Data.(orchestrator.PersonTypedRecord); ok {
			turns = append(turns, d.Turn)
			if want := (orchestrator.PersonTypedRecord{Launch: "1.planner.1", Role: "planner", Turn: d.Turn}); d != want {
				t.Errorf("%+v", d)
			}
		}
	}
	if !slices.Equal(turns, []int{1, 3, 4}) {
		t.Errorf("turns %v", turns)
	}
}

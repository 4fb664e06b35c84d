package decide_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// loop lets page and api send to each other, page also to the person.
var loop = message.Rows{
	"page": {"complete": {"api": "the page is written"}, "blocked": {"core": "requirements are missing"}},
	"api":  {"failed": {"page": "the page does not work"}},
}

func routed(t *testing.T, rules message.Rules) *sim {
	t.Helper()
	return newTeam(t, strings.Replace(pair, "depends_on: [api, page]", "depends_on: []", 1), func(s *orchestrator.State) { s.Settings.Msg = rules })
}

func status(word string, m message.Message) message.Message {
	m.Status = word
	return m
}

// A message that the table does not allow is rejected with what it allows, or delivered with a warning.
func TestProtocolT6ARouteThatIsNotInTheTableIsRefused(t *testing.T) {
	m := routed(t, message.Rules{Rows: loop})
	for _, c := range []struct{ from, to, status, want string }{
		{"page", "shop/api", "complete", ""},
		{"page", "core/core", "blocked", ""},
		{"look", "shop/api", "start", ""}, // without a row
		{"page", "shop/api", "start", "page may not send start to api, only blocked to core, complete to api"},
		{"page", "shop/look", "complete", "page may not send complete to look, only blocked to core, complete to api"},
	} {
		headline := c.from + " " + c.status + " " + c.to
		m.posts(c.from, letter("shop/"+c.from, c.to, status(c.status, message.Message{Headline: headline})))
		got := m.mail(headline)
		if string(got.Reason) != c.want || (got.State == orchestrator.MessageFailed) != (c.want != "") {
			t.Errorf("%s: message %+v", headline, got)
		}
		if c.want != "" && m.s.Messages[len(m.s.Messages)-1].To != "shop/"+c.from {
			t.Errorf("%s: the writer is not told", headline)
		}
	}
	m = routed(t, message.Rules{Rows: loop, Warn: true})
	m.posts("page", letter("shop/page", "shop/look", status("start", message.Message{Headline: "x"})))
	if got := m.mail("x"); got.State != orchestrator.MessageDelivered {
		t.Errorf("with warn: %+v", got)
	}
}

// What was asked may be answered, whatever the table says.
func TestAnAnswerIsAlwaysAllowed(t *testing.T) {
	m := routed(t, message.Rules{Rows: message.Rows{"api": {"failed": {"page": ""}}}})
	m.posts("page", letter("shop/page", "shop/api", asking("page-1")))
	m.posts("api", letter("shop/api", "shop/page", status("complete", answering("page-1"))))
	if got := m.mail("8080"); got.State != orchestrator.MessageDelivered {
		t.Errorf("answer %+v", got)
	}
	m.posts("api", letter("shop/api", "shop/page", status("complete", message.Message{Type: message.AskResponse, InReplyTo: "page-1", Headline: "again"})))
	if got := m.mail("again"); got.State != orchestrator.MessageFailed {
		t.Errorf("a second answer %+v", got)
	}
}

// The fourth time a message would go round a circle of the table is a question to the person.
func TestProtocolT6TheFourthTimeRoundIsAQuestion(t *testing.T) {
	m := routed(t, message.Rules{Rows: loop, Max: 3})
	send := func() {
		m.posts("page", letter("shop/page", "shop/api", status("complete", message.Message{Headline: "written"})))
	}
	for range 3 {
		send()
	}
	if len(m.s.Questions) > 0 {
		t.Fatalf("questions %+v", m.s.Questions)
	}
	send()
	if q := m.s.Questions; len(q) != 1 || !strings.HasPrefix(q[0].Text, "shop/page sent complete to shop/api 3 times and would again: written") || q[0].Task != "page" {
		t.Fatalf("questions %+v", q)
	}
	if got := m.mail("would again"); got.To != "core/core" || !got.Open {
		t.Errorf("message %+v", got)
	}
	m.command("answer", map[string]any{"text": "once more"})
	if got := m.mail("answer to m4"); got.To != "shop/page" || got.State != orchestrator.MessageDelivered {
		t.Errorf("answer %+v", got)
	}
	send()
	if got := m.mail("written"); got.State != orchestrator.MessageQueued && got.State != orchestrator.MessageDelivered || len(m.s.Questions) != 1 {
		t.Errorf("message %+v", got)
	}
	for range 5 {
		m.posts("page", letter("shop/page", "core/core", status("blocked", message.Message{Headline: "no way back"})))
	}
	if len(m.s.Questions) != 1 {
		t.Errorf("a way without a return is counted: %+v", m.s.Questions)
	}
}

// A resume reads the settings again, and keeps the table that the agents were told of.
func TestAResumeKeepsTheTable(t *testing.T) {
	m := routed(t, message.Rules{Rows: loop, Max: 3})
	m.command("stop", nil)
	set := orchestrator.DefaultSettings()
	set.Msg = message.Rules{Warn: true}
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{Mode: orchestrator.StartResume, Settings: &set}})
	if got := m.s.Settings.Msg; len(got.Rows) != 2 || !got.Warn {
		t.Errorf("rules %+v", got)
	}
}

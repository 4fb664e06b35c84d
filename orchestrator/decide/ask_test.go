package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

func asking(id string) message.Message {
	return message.Message{Type: message.Ask, ID: id, Headline: "which port " + id, Body: []byte("The page needs it.\n")}
}

func answering(id string) message.Message {
	return message.Message{Type: message.AskResponse, InReplyTo: id, Headline: "8080"}
}

// turnEnds reports that the turn of an agent has ended.
func (m *sim) turnEnds(name, evidence string) {
	m.t.Helper()
	m.report(m.member(name), orchestrator.AgentReport{Condition: orchestrator.AgentLive, TurnEnded: evidence})
}

// An agent that asked waits: its turn may end, it may be silent or exit, and what others write to it
// comes after the answer.
func TestAnAskHoldsItsWriter(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("page", letter("shop/page", "shop/api", asking("page-1")))
	if got := m.mail("which port"); !got.Open || got.State != orchestrator.MessageDelivered {
		t.Fatalf("ask %+v", got)
	}
	m.turnEnds("page", "1")
	if a := m.s.Agents["build/page"]; a.Waiting != "ask" || m.s.Team["page"].Marker != "" {
		t.Fatalf("agent %+v, %s", a, m.statuses())
	}
	m.wait(time.Hour)
	m.report("build/page", orchestrator.AgentReport{Condition: orchestrator.AgentLive, Silence: orchestrator.Duration(time.Hour)})
	m.exit("build/page", 0)
	if a := m.s.Agents["build/page"]; a.Launch != "" || a.Waiting != "ask" || m.count(orchestrator.EvAgentStalled) > 0 || m.s.Team["page"].Marker != "" {
		t.Fatalf("agent %+v", a)
	}
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "by the way"}))
	m.posts("api", letter("shop/api", "shop/page", answering("page-1")))
	if a := m.s.Agents["build/page"]; a.Waiting != "" || a.Attempt != 2 {
		t.Errorf("agent %+v is not started again", a)
	}
	if got := m.mail("which port"); got.Open || got.State != orchestrator.MessageAcked {
		t.Errorf("ask %+v", got)
	}
	for _, headline := range []string{"8080", "by the way"} {
		if got := m.mail(headline); got.State != orchestrator.MessageDelivered {
			t.Errorf("message %+v", got)
		}
	}
	if _, armed := m.s.Deadlines["ask/1"]; armed {
		t.Error("the answer is still waited for")
	}
}

// While an agent waits for an answer only answers, the session and the person reach it.
func TestWhatReachesAnAgentThatAsked(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("page", letter("shop/page", "shop/api", asking("page-1")))
	m.posts("api", letter("shop/api", "shop/page", message.Message{Headline: "an update"}))
	m.posts("api", letter("shop/api", "shop/page", message.Message{Type: message.TaskComplete, Headline: "a task"}))
	m.command("say", map[string]any{"text": "a word", "role": "build/page"})
	for headline, want := range map[string]string{
		"an update": orchestrator.MessageQueued, "a task": orchestrator.MessageDelivered, "a word": orchestrator.MessageDelivered,
	} {
		if got := m.mail(headline); got.State != want {
			t.Errorf("message %+v", got)
		}
	}
}

// An ask that nobody answers in time gets an answer that says so.
func TestProtocolT5AnAskThatIsNotAnsweredInTime(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("page", letter("shop/page", "shop/look", asking("page-1")))
	if got := m.s.Deadlines["ask/1"].Sub(m.now); got != 30*time.Minute {
		t.Fatalf("the answer is due after %s", got)
	}
	m.timer("ask/1")
	got := m.mail("no answer to page-1")
	if got.From != "core/core" || got.To != "shop/page" || got.Type != message.AskResponse || got.InReplyTo != "page-1" || got.State != orchestrator.MessageDelivered {
		t.Errorf("answer %+v", got)
	}
	if got := m.mail("which port"); got.Open || got.State != orchestrator.MessageExpired {
		t.Errorf("ask %+v", got)
	}
	m.fire("ask/1")
	m.fire("ask/nothing")
	if n := m.count(orchestrator.EvMsgQueued); n != 2 {
		t.Errorf("%d messages", n)
	}
}

// Of asks in a circle the newest is answered at once.
func TestProtocolT5ACircleOfAsksIsOpened(t *testing.T) {
	m := newTeam(t, strings.Replace(pair, "depends_on: [api, page]", "depends_on: []", 1), nil)
	m.posts("page", letter("shop/page", "shop/api", asking("page-1")))
	m.posts("api", letter("shop/api", "shop/look", asking("api-2")))
	m.posts("look", letter("shop/look", "shop/page", asking("look-3")))
	if got := m.mail("look-3"); got.Type != message.AskResponse || got.To != "shop/look" || got.State != orchestrator.MessageDelivered {
		t.Errorf("answer %+v", got)
	}
	if got := m.mail("which port look-3"); got.Open || got.State != orchestrator.MessageFailed ||
		!strings.Contains(string(got.Reason), "shop/look waits for shop/page waits for shop/api waits for shop/look") {
		t.Errorf("ask %+v", got)
	}
	for _, id := range []string{"page-1", "api-2"} {
		if got := m.mail("which port " + id); !got.Open {
			t.Errorf("ask %+v", got)
		}
	}
}

// An ask to the person is a question, and what the person answers is its answer.
func TestProtocolT5AnAskToThePersonIsAQuestion(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("page", letter("shop/page", "core/core", asking("page-1")))
	if q := m.s.Questions; len(q) != 1 || q[0].ID != "m1" || q[0].Role != "build" || q[0].Task != "page" || q[0].Text != "which port page-1\n\nThe page needs it." {
		t.Fatalf("questions %+v", q)
	}
	m.turnEnds("page", "1")
	if a := m.s.Agents["build/page"]; a.Waiting != "question" {
		t.Errorf("agent %+v", a)
	}
	m.command("answer", map[string]any{"id": "m1", "text": "8080"})
	got := m.mail("answer to m1")
	if got.From != "core/core" || got.InReplyTo != "page-1" || got.Type != message.AskResponse || got.State != orchestrator.MessageDelivered {
		t.Errorf("answer %+v", got)
	}
	if ask := m.mail("which port"); ask.Open || m.s.Agents["build/page"].Waiting != "" {
		t.Errorf("ask %+v, agent %+v", ask, m.s.Agents["build/page"])
	}
	m.posts("page", letter("shop/page", "core/core", message.Message{Headline: "half done"}))
	if got := m.mail("half done"); got.State != orchestrator.MessageAcked || len(m.s.Questions) != 1 {
		t.Errorf("message %+v", got)
	}
}

// No agent answers what was put to another one, or to the person.
func TestSecurity40AnAgentAnswersOnlyWhatWasPutToIt(t *testing.T) {
	m := newTeam(t, strings.Replace(pair, "depends_on: [api, page]", "depends_on: []", 1), nil)
	m.posts("page", letter("shop/page", "core/core", asking("page-1")))
	m.posts("page", letter("shop/page", "shop/api", asking("page-2")))
	for _, id := range []string{"page-1", "page-2"} {
		m.posts("look", letter("shop/look", "shop/page", answering(id)))
		if got := m.mail("8080"); got.State != orchestrator.MessageFailed || string(got.Reason) != id+" was not put to you" {
			t.Errorf("answer %+v", got)
		}
		if ask := m.mail("which port " + id); !ask.Open {
			t.Errorf("ask %+v", ask)
		}
	}
	if q := m.s.Questions[0]; !q.Open() {
		t.Errorf("question %+v", q)
	}
}

// An agent that has ended answers nothing more: those who asked it are not held.
func TestAnAskToAnAgentThatHasEndedIsNotHeld(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("page", letter("shop/page", "shop/api", asking("page-1")))
	m.turnEnds("page", "1")
	m.submits("api")
	if got := m.mail("no answer to page-1"); got.To != "shop/page" || m.s.Agents["build/page"].Waiting != "" {
		t.Errorf("answer %+v, agent %+v", got, m.s.Agents["build/page"])
	}
	m.posts("page", letter("shop/page", "shop/api", asking("page-2")))
	if got := m.mail("no answer to page-2"); got.State != orchestrator.MessageDelivered || m.mail("which port page-2").Open {
		t.Errorf("answer %+v", got)
	}
}

// Four questions of one agent are one too many.
func TestAnAgentHasAFewQuestionsOpen(t *testing.T) {
	m := newTeam(t, pair, nil)
	for _, id := range []string{"1", "2", "3", "4"} {
		m.posts("page", letter("shop/page", "core/core", asking("page-"+id)))
	}
	if got := m.mail("which port page-4"); got.State != orchestrator.MessageFailed || len(m.s.Questions) != 3 {
		t.Errorf("ask %+v, %d questions", got, len(m.s.Questions))
	}
}

// Asks outlive a pause and a resume, with their time.
func TestAsksSurviveAResume(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("page", letter("shop/page", "shop/api", asking("page-1")))
	m.command("stop", nil)
	m.resume("")
	if got := m.mail("which port"); !got.Open || got.State == orchestrator.MessageOrphan {
		t.Errorf("ask %+v", got)
	}
	if _, armed := m.s.Deadlines["ask/1"]; !armed {
		t.Error("its answer is not waited for")
	}
}

// An answer that is for one agent of a run closes no question of another one.
func TestAnAnswerForOneAgentIsOfItsQuestions(t *testing.T) {
	m := newTeam(t, pair, nil)
	m.posts("page", letter("shop/page", "core/core", asking("page-1")))
	m.posts("api", letter("shop/api", "core/core", asking("api-1")))
	ids := map[string]string{}
	for _, q := range m.s.Questions {
		ids[q.Task] = q.ID
	}
	refused := func(args map[string]any, want string) {
		t.Helper()
		m.command("answer", args)
		if r, ok := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord); !ok || r.Reason != want || r.Agent != "page" {
			t.Errorf("%v: %+v, want %q", args, r, want)
		}
	}
	refused(map[string]any{"role": "page", "id": ids["api"], "text": "8080"}, "there is no question "+ids["api"]+" of page; open: "+ids["page"])
	m.command("answer", map[string]any{"role": "page", "text": "8080"})
	for _, q := range m.s.Questions {
		if q.Open() != (q.Task == "api") {
			t.Errorf("question %+v", q)
		}
	}
	refused(map[string]any{"role": "page", "text": "8080"}, "no question of page is open")
}

// Where people are reached on issues alone, the question of an agent without one is decided at once.
func TestAQuestionWithoutAnIssueIsDecidedAtOnce(t *testing.T) {
	of := strings.Replace(pair, "branch: page, task: t}", "branch: page, issue: 7}", 1)
	m := newTeam(t, of, func(s *orchestrator.State) { s.Mirror, s.Interactive, s.Settings.Reachable = true, false, true })
	m.posts("page", letter("shop/page", "core/core", asking("page-1")))
	m.posts("api", letter("shop/api", "core/core", asking("api-1")))
	for _, q := range m.s.Questions {
		if q.Open() != (q.Task == "page") {
			t.Errorf("question %+v", q)
		}
	}
}

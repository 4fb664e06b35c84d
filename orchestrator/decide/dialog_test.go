package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// standing is the report of an agent that shows a known dialog.
func standing(text string) orchestrator.AgentReport {
	return orchestrator.AgentReport{Dialog: text, Choices: []string{"yes", "no"}}
}

// parkedWith fails unless a person is told that why the session is parked.
func (m *sim) parkedWith(words string) {
	m.t.Helper()
	if got := m.last(orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord).Text; got != words {
		m.t.Errorf("parked with %q, want %q", got, words)
	}
}

// asked returns the only open question, about a dialog.
func (m *sim) asked() orchestrator.Question {
	m.t.Helper()
	var open []orchestrator.Question
	for _, q := range m.s.Questions {
		if q.Open() {
			open = append(open, q)
		}
	}
	if len(open) != 1 || open[0].Kind != orchestrator.KindDialog {
		m.t.Fatalf("open questions: %+v", open)
	}
	return open[0]
}

func (m *sim) pressed() (n int) {
	for _, e := range m.done {
		if e.Type == orchestrator.EffAnswerDialog {
			n++
		}
	}
	return n
}

func delivering(delivery string) func(orchestrator.Effect) orchestrator.Result {
	return completion(orchestrator.EffAnswerDialog, orchestrator.Result{Delivery: delivery})
}

func TestProtocolP14AKnownDialogIsPutToAPerson(t *testing.T) {
	begin := func(t *testing.T, delivery string) *sim {
		m := newSim(t, "quick", nil)
		m.result = delivering(delivery)
		for range 2 {
			m.report("planner", standing("Run ls?"))
		}
		if q := m.asked(); q.Text != "Run ls?" || q.Role != "planner" || len(q.Options) != 2 || m.s.Agents["planner"].Waiting != "question" {
			t.Fatalf("%+v, %+v", q, m.s.Agents["planner"])
		}
		return m
	}
	t.Run("answered", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		m.refused("answer", map[string]any{"id": m.asked().ID, "text": "perhaps"})
		m.refused("answer", map[string]any{"id": m.asked().ID, "text": "3"})
		m.command("answer", map[string]any{"id": m.asked().ID, "text": "YES"})
		if q := m.s.Questions[0]; q.Open() || q.Answer != "yes" || m.pressed() != 1 || m.s.Ended() || len(m.s.Messages) > 0 || m.s.Agents["planner"].Waiting != "" {
			t.Errorf("%+v, pressed %d times, outcome %q", q, m.pressed(), m.s.OutcomeReason)
		}
		m.report("planner", orchestrator.AgentReport{})
		m.report("planner", standing("Run ls?"))
		m.asked() // a new one with the same words
	})
	t.Run("an answer that may be about another dialog", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		q := m.asked()
		unread := q.AskedAt.Add(-2 * time.Second).Format(time.RFC3339)
		early := m.commandInput("answer", map[string]any{"id": q.ID, "text": "1"})
		early.Line.At = orchestrator.At(q.AskedAt.Add(-2 * time.Second))
		for name, say := range map[string]func(){
			"no id":               func() { m.command("answer", map[string]any{"text": "1"}) },
			"a line of before":    func() { m.do(early) },
			"a comment of before": func() { m.command("answer", map[string]any{"id": q.ID, "text": "1", "written": unread}) },
		} {
			say()
			if d, _ := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord); !strings.Contains(d.Reason, "answer "+q.ID+" <number>") || m.pressed() > 0 {
				t.Errorf("%s: refused with %q, pressed %d times", name, d.Reason, m.pressed())
			}
		}
		m.asked()
	})
	t.Run("ids of another machine", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		first := m.asked().ID
		m.s.Questions = nil // as it was before
		m.report("planner", standing("Run ls?"))
		if m.asked().ID == first {
			t.Errorf("%s is there twice", first)
		}
	})
	t.Run("while it is being pressed", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAnswerDialog }
		m.command("answer", map[string]any{"id": m.asked().ID, "text": "1"})
		m.report("planner", standing("Run ls?"))
		if len(m.s.Questions) != 1 {
			t.Errorf("asked again: %+v", m.s.Questions)
		}
	})
	t.Run("gone", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		m.report("planner", orchestrator.AgentReport{})
		if q := m.s.Questions[0]; q.Open() || q.Answer != "" || m.s.Agents["planner"].Waiting != "" {
			t.Errorf("%+v", q)
		}
		m.refused("answer", map[string]any{"text": "1"})
		m.refused("answer", map[string]any{"id": m.s.Questions[0].ID, "text": "1"})
		if m.pressed() > 0 || m.s.Ended() {
			t.Error("pressed, or ended")
		}
	})
	t.Run("gone when it was to be pressed", func(t *testing.T) {
		m := begin(t, orchestrator.DeliveryRefused)
		m.command("answer", map[string]any{"id": m.asked().ID, "text": "1"})
		d, _ := m.last(orchestrator.EvInputIgnored).Data.(orchestrator.InputIgnoredRecord)
		if d.Tool != orchestrator.EffAnswerDialog || !strings.HasSuffix(d.Reason, "nothing was pressed") || m.s.Ended() {
			t.Errorf("%+v, outcome %q", d, m.s.OutcomeReason)
		}
	})
	t.Run("changed", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		first := m.asked().ID
		m.report("planner", standing("Run rm?"))
		if q := m.asked(); q.ID == first || q.Text != "Run rm?" {
			t.Errorf("%+v", q)
		}
		m.refused("answer", map[string]any{"id": first, "text": "1"})
		if m.pressed() > 0 {
			t.Error("the answer to another dialog was pressed")
		}
	})
	t.Run("unknown after a known one", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		m.report("planner", orchestrator.AgentReport{Dialog: "waiting-permission"})
		m.parked(orchestrator.ReasonAgentDialog)
	})
	t.Run("three tries", func(t *testing.T) {
		m := begin(t, orchestrator.DeliveryIndeterminate)
		m.command("answer", map[string]any{"id": m.asked().ID, "text": "1"})
		m.parked(orchestrator.ReasonAgentDialog)
	})
	t.Run("it cannot be pressed", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAnswerDialog }
		m.command("answer", map[string]any{"id": m.asked().ID, "text": "1"})
		m.hold = nil
		m.failing(orchestrator.EffAnswerDialog, orchestrator.FailNever)
		m.parked(orchestrator.ReasonAgentDialog)
	})
	t.Run("a person is at the pane", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		m.s.Settings.LimitRemote = orchestrator.Duration(time.Minute)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAnswerDialog }
		m.command("answer", map[string]any{"id": m.asked().ID, "text": "1"})
		began := m.now
		for n := 0; !m.s.Ended(); n++ {
			if n > 10_000 {
				t.Fatal("it is tried for ever")
			}
			m.now = m.now.Add(10 * time.Second)
			i := slices.IndexFunc(m.s.Pending, func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffAnswerDialog })
			m.do(orchestrator.Input{Kind: orchestrator.InEffectFailed, Effect: &orchestrator.Outcome{
				ID: m.s.Pending[i].ID, Class: orchestrator.FailRemote, Error: "a person types", Wait: orchestrator.Duration(10 * time.Second),
			}})
		}
		m.parked(orchestrator.ReasonAgentDialog)
		if waited, want := m.now.Sub(began), m.s.Settings.LimitHumanWait.D(); waited < want || waited > want+time.Minute {
			t.Errorf("parked after %v, want %v", waited, want)
		}
		if n := m.count(orchestrator.EvEffectFailed); n != 2 {
			t.Errorf("%d records tell of it: want the first try and the last", n)
		}
	})
	t.Run("a screen that moves", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		first := m.s.Deadlines["question/"+m.asked().ID]
		for _, minute := range []string{"1", "2", "3", "4"} {
			m.now = m.now.Add(time.Minute)
			m.report("planner", standing("Run ls? 12:0"+minute))
			if at := m.s.Deadlines["question/"+m.asked().ID]; !at.Equal(first.Time) {
				t.Errorf("asked until %v, first until %v", at, first)
			}
		}
		m.report("planner", standing("Run ls? 12:05"))
		m.parked(orchestrator.ReasonAgentDialog)
		m.parkedWith("the screen of the planner changed each time that a person was asked about its dialog: Run ls? 12:05")
	})
	t.Run("no answer in time", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		if m.s.Settings.QuestionTimeout != "decide" {
			t.Fatal("questions are not decided without a person")
		}
		q := m.asked()
		m.timer("question/" + q.ID)
		m.parked(orchestrator.ReasonAgentDialog)
		m.parkedWith("the dialog of question " + q.ID + " was not answered in time: " + q.Text)
		if m.pressed() > 0 || m.s.Questions[0].Answer != "" || m.s.Questions[0].Open() {
			t.Errorf("answered without a person: %+v", m.s.Questions[0])
		}
		m.resume("")
		if m.s.Agents["planner"].Launch == "" {
			t.Error("not started again")
		}
	})
	t.Run("nobody can be reached", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Reachable = false })
		m.report("planner", standing("Run\n ls?"))
		m.parked(orchestrator.ReasonAgentDialog)
		m.parkedWith("the planner shows a dialog that only a person may answer, and no person can be asked here: Run ls?")
	})
	t.Run("its program ends", func(t *testing.T) {
		m := begin(t, orchestrator.DeliverySent)
		m.exit("planner", 1)
		if m.s.Questions[0].Open() {
			t.Errorf("%+v", m.s.Questions[0])
		}
	})
	t.Run("a person is present", func(t *testing.T) {
		m := newSim(t, "quick", interactive)
		m.report("planner", standing("Run ls?"))
		if len(m.s.Questions) > 0 || m.s.Ended() {
			t.Errorf("questions %+v, outcome %q", m.s.Questions, m.s.OutcomeReason)
		}
	})
}

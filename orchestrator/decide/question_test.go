package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

func TestProtocolP12InteractiveExitAsksThePerson(t *testing.T) {
	m := newSim(t, "quick", interactive)
	m.exit("planner", 0)
	if len(m.s.Questions) != 1 || !slices.Equal(m.s.Questions[0].Options, []string{"retry", "stop"}) || m.s.Ended() {
		t.Fatalf("questions %+v", m.s.Questions)
	}
	m.command("answer", map[string]any{"text": "1"})
	if m.s.Agents["planner"].Launch != "1.planner.2" {
		t.Fatalf("planner %+v", m.s.Agents["planner"])
	}
	m.exit("planner", 0)
	m.command("retry", nil)
	if m.s.Agents["planner"].Launch != "1.planner.3" || m.s.Questions[1].Open() {
		t.Fatalf("planner %+v, question %+v", m.s.Agents["planner"], m.s.Questions[1])
	}
	m.exit("planner", 0)
	m.command("answer", map[string]any{"text": "stop"})
	m.phase(orchestrator.PhaseFailed)
	if m.s.Outcome != orchestrator.OutcomeCanceled {
		t.Errorf("outcome %q", m.s.Outcome)
	}
}

// Each question has a kind, in the state and in its record; one of a state that an earlier version
// wrote has it once it is read.
func TestEachQuestionHasAKind(t *testing.T) {
	of := func(s *orchestrator.State) string {
		var kinds []string
		for _, q := range s.Questions {
			kinds = append(kinds, q.Kind)
		}
		return strings.Join(kinds, " ")
	}
	m := newSim(t, "quick", interactive)
	m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
	if asked := m.last(orchestrator.EvQuestionAsked).Data.(orchestrator.QuestionAskedRecord); of(m.s) != "question" || asked.Kind != "question" {
		t.Errorf("of an agent: %q, %+v", of(m.s), asked)
	}
	m = newSim(t, "quick", interactive)
	m.exit("planner", 0)
	if asked := m.last(orchestrator.EvQuestionAsked).Data.(orchestrator.QuestionAskedRecord); of(m.s) != "question" || asked.Kind != "question" {
		t.Errorf("of the session: %q, %+v", of(m.s), asked)
	}
	data, err := m.s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	older := strings.ReplaceAll(string(data), "      \"kind\": \"question\",\n", "")
	s, err := orchestrator.Decode([]byte(older[:strings.LastIndex(older, ",\n  \"checksum\"")] + "\n}\n"))
	if err != nil || len(older) == len(data) || of(s) != "question" {
		t.Errorf("of an earlier version: %q, %v", of(s), err)
	}
}

func TestNoAgentCanAskInTheNameOfTheSession(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("ask_human", "planner", map[string]any{"id": "host-1", "question": "Stop?"}, nil)
	m.command("answer", map[string]any{"text": "stop"})
	if m.s.Ended() || m.s.Questions[0].ID != "q1" {
		t.Errorf("outcome %q, question %+v", m.s.Outcome, m.s.Questions[0])
	}
}

// An answer says which question it is of.
func TestAnAnswerNamesItsQuestion(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
	in := m.commandInput("answer", map[string]any{"text": "this"})
	in.At = m.now
	step, err := decide.Reduce(m.def, m.s, in)
	if err != nil {
		t.Fatal(err)
	}
	answer := step.State.Messages[0]
	if text := string(step.Blobs[answer.SHA256]); answer.InReplyTo != "q1" || !strings.Contains(text, "\nin-reply-to: \"q1\"\n") {
		t.Errorf("message %+v, text:\n%s", answer, text)
	}
}

func TestProtocolA5Questions(t *testing.T) {
	t.Run("nobody answers: decide", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.timer("question/q1")
		if q := m.s.Questions[0]; q.Open() || !strings.Contains(string(q.Answer), "safest") {
			t.Fatalf("question %+v", q)
		}
		m.refused("answer", map[string]any{"id": "q1", "text": "late"})
	})
	t.Run("nobody answers: park", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.QuestionTimeout = "park" })
		m.planned("parallel", 2)
		m.tool("ask_human", "coder/1", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("coder/1", 0)
		m.timer("question/q1")
		m.parked(orchestrator.ReasonQuestion)
		m.resume("")
		if _, armed := m.s.Deadlines["question/q1"]; !armed || m.s.Agents["coder/1"].Launch != "" || m.s.Agents["coder/2"].Launch == "" {
			t.Fatalf("deadlines %v, agents %+v", m.s.Deadlines, m.s.Agents)
		}
		m.timer("question/q1")
		m.parked(orchestrator.ReasonQuestion)
		m.command("answer", map[string]any{"text": "this"})
		if m.s.Ended() || m.s.Agents["coder/1"].Launch == "" || m.s.Agents["coder/2"].Launch == "" {
			t.Fatalf("agents %+v", m.s.Agents)
		}
	})
	t.Run("nobody is there", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.Reachable = false })
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		if m.s.Questions[0].Open() {
			t.Error("waits for nobody")
		}
	})
	t.Run("a question of a finished agent waits for nothing", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.QuestionTimeout = "park" })
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.planned("serial", 1)
		if _, armed := m.s.Deadlines["question/q1"]; armed || m.s.Questions[0].Open() {
			t.Fatalf("question %+v, deadlines %v", m.s.Questions[0], m.s.Deadlines)
		}
	})
	t.Run("several", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		for _, id := range []string{"q1", "q1", "q3", "q4"} {
			m.tool("ask_human", "planner", map[string]any{"id": id, "question": "Which?"}, nil)
		}
		if len(m.s.Questions) != 3 || m.s.Questions[1].ID != "q2" {
			t.Fatalf("questions %+v", m.s.Questions)
		}
		m.refused("answer", map[string]any{"text": "which one?"})
		m.refused("answer", map[string]any{"id": "q9", "text": "x"})
		m.refused("answer", map[string]any{"id": "q1", "text": " "})
		for _, id := range []string{"q1", "q2", "q3"} {
			m.command("answer", map[string]any{"id": id, "text": "x"})
		}
		m.refused("answer", map[string]any{"text": "x"})
	})
}

// A number that picks no option is no answer, but for an option that is that number.
func TestAnAnswerPicksAnOptionThatIsThere(t *testing.T) {
	ask := func(t *testing.T, options ...string) *sim {
		m := newSim(t, "quick", nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "?", "options": options}, nil)
		return m
	}
	for _, text := range []string{"7", "0", "-1", " 3 "} {
		t.Run("no option "+text, func(t *testing.T) {
			m := ask(t, "a", "b")
			m.refused("answer", map[string]any{"text": text})
			if reason := m.last(orchestrator.EvCommandRefused).Data.(orchestrator.CommandRefusedRecord).Reason; !strings.Contains(reason, "from 1 to 2") {
				t.Errorf("%q: %s", text, reason)
			}
			m.command("answer", map[string]any{"text": "2"})
			if got := m.s.Questions[0].Answer; got != "b" {
				t.Errorf("answered %q", got)
			}
		})
	}
	for text, options := range map[string][]string{"10": {"10", "20"}, "7": nil, "7 of them": {"a", "b"}} {
		t.Run("option or words "+text, func(t *testing.T) {
			m := ask(t, options...)
			m.command("answer", map[string]any{"text": text})
			if got := m.s.Questions[0].Answer; string(got) != text {
				t.Errorf("answered %q, want %q", got, text)
			}
		})
	}
}

// What a session would refuse is known without asking it, also of one that is resumed first.
func TestForesee(t *testing.T) {
	m := newSim(t, "quick", nil)
	at := m.now
	say := orchestrator.Payload{Name: "say", Args: orchestrator.CommandArgs{Text: "look"}}
	approve := orchestrator.Payload{Name: "approve"}
	if got := decide.Foresee(m.def, m.s, say, at, false); got != "" {
		t.Errorf("say: %s", got)
	}
	m.command("stop", nil)
	if got := decide.Foresee(m.def, m.s, say, at, false); got != "the session has ended" {
		t.Errorf("say behind the end: %s", got)
	}
	if got := decide.Foresee(m.def, m.s, say, at, true); got != "" {
		t.Errorf("say, then resume: %s", got)
	}
	if got := decide.Foresee(m.def, m.s, approve, at, true); got != "no gate is open" {
		t.Errorf("approve: %s", got)
	}
	if m.s.Phase != orchestrator.PhaseFailed {
		t.Errorf("phase %s", m.s.Phase)
	}
}

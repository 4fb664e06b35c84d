package decide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

func interactive(s *orchestrator.State) { s.Interactive = true }

func TestProtocolP12ExitWithoutSubmission(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.exit("planner", 0)
	if m.s.Ended() || m.s.Agents["planner"].Launch != "" {
		t.Fatal("not waiting for the relaunch")
	}
	if got := m.due("relaunch/planner"); got != 10*time.Second {
		t.Errorf("relaunch after %s", got)
	}
	m.timer("relaunch/planner")
	if !slices.Equal(m.ran(), []orchestrator.Launch{"1.planner.1", "1.planner.2"}) {
		t.Fatalf("ran %v", m.ran())
	}
	m.exit("planner", 0)
	m.parked(orchestrator.ReasonAgentStalled)
	if m.count(orchestrator.EvAgentFailed) != 1 {
		t.Error("no agent_failed")
	}
	exits := 0
	for _, e := range m.events {
		if exited, ok := e.Data.(orchestrator.AgentExitedRecord); ok && exited.Launch == "1.planner.1" {
			exits++
		}
	}
	if exits != 1 {
		t.Errorf("%d records of one exit", exits)
	}
}

func TestProtocolP12RelaunchesBackOffAndOnlyTheFirstGoesOn(t *testing.T) {
	m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.AgentRetries = 3 })
	for _, pause := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		m.exit("planner", 1)
		if got := m.due("relaunch/planner"); got != pause {
			t.Fatalf("relaunch after %s, want %s", got, pause)
		}
		m.timer("relaunch/planner")
	}
	var goesOn []bool
	for _, e := range m.done {
		if e.Type == orchestrator.EffStartAgent {
			goesOn = append(goesOn, e.Args.Continue)
		}
	}
	if !slices.Equal(goesOn, []bool{false, true, false, false}) {
		t.Errorf("launches with the program's own session: %v", goesOn)
	}
	m.exit("planner", 1)
	m.parked(orchestrator.ReasonAgentStalled)
}

func TestProtocolP12RetriesBeginAnewWithAPhase(t *testing.T) {
	m := newSim(t, "feature", nil)
	m.toReview("serial", 1)
	for range 2 {
		m.fails("reviewer_logic")
		m.exit("coder", 1)
		m.timer("relaunch/coder")
		m.fixed()
	}
	m.phase("reviewing")
}

func TestProtocolP12TurnEndsWithoutSubmission(t *testing.T) {
	m := newSim(t, "quick", nil)
	turn := func(evidence string) {
		m.report("planner", orchestrator.AgentReport{TurnEnded: evidence})
	}
	turn("turn 1")
	turn("turn 1")
	if len(m.s.Messages) != 1 || m.s.Agents["planner"].Launch != "1.planner.1" {
		t.Fatalf("messages %+v", m.s.Messages)
	}
	turn("turn 2")
	if m.s.Agents["planner"].Launch != "" {
		t.Fatal("not taken for gone after the second turn")
	}
	m.timer("relaunch/planner")
	turn("turn 1")
	if len(m.s.Messages) != 2 || m.s.Ended() {
		t.Fatalf("a new launch is not reminded: %d messages", len(m.s.Messages))
	}
}

func TestATurnEndWithMailNeedsNoReminder(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffDeliver }
	m.command("say", map[string]any{"text": "look at this"})
	m.report("planner", orchestrator.AgentReport{TurnEnded: "turn 1"})
	if len(m.s.Messages) != 1 {
		t.Fatalf("messages %+v", m.s.Messages)
	}
	m.hold = nil
	m.settle()
	m.report("planner", orchestrator.AgentReport{TurnEnded: "turn 2"})
	if len(m.s.Messages) != 2 {
		t.Fatal("no reminder after the mail was read")
	}
}

func TestProtocolP12WaitingForAnAnswerOrResearch(t *testing.T) {
	t.Run("exit with a question open", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("planner", 0)
		if m.s.Agents["planner"].Waiting != "question" || m.s.Agents["planner"].Retries != 0 || m.count(orchestrator.EvAgentWaiting) != 1 {
			t.Fatalf("planner %+v", m.s.Agents["planner"])
		}
		if !slices.ContainsFunc(m.effects(orchestrator.EffStopAgent), func(e orchestrator.Effect) bool { return e.Args.Launch == "1.planner.1" }) {
			t.Error("nobody clears away what the launch has left")
		}
		m.command("answer", map[string]any{"id": "q1", "text": "this"})
		if got := m.s.Agents["planner"]; got.Launch != "1.planner.2" || got.Retries != 0 {
			t.Fatalf("planner %+v", got)
		}
		if m.s.Messages[0].Type != "ask-response" || m.s.Messages[0].State != orchestrator.MessageDelivered {
			t.Errorf("answer %+v", m.s.Messages[0])
		}
	})
	t.Run("an exit with an error is none", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("planner", 1)
		if m.s.Agents["planner"].Waiting != "" {
			t.Error("a crash counts as waiting")
		}
	})
	t.Run("research of its own", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("research_dispatch_code", "planner", map[string]any{"topic": "auth", "questions": []string{"where?"}}, nil)
		m.exit("planner", 0)
		if m.s.Agents["planner"].Waiting != "research" {
			t.Fatalf("planner %+v", m.s.Agents["planner"])
		}
		m.exit("code-researcher/auth", 1)
		if m.s.Agents["planner"].Launch != "1.planner.2" {
			t.Fatal("the failure does not wake the owner")
		}
	})
	t.Run("research of another role", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.tool("research_dispatch_code", "architect", map[string]any{"topic": "auth", "questions": []string{"where?"}}, nil)
		m.architecture()
		m.exit("planner", 0)
		if m.s.Agents["planner"].Waiting != "" {
			t.Error("the planner waits for research it did not ask for")
		}
	})
	t.Run("a live agent gets the answer as a message", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?", "options": []string{"a", "b"}}, nil)
		m.report("planner", orchestrator.AgentReport{TurnEnded: "turn 1"})
		if m.s.Agents["planner"].Waiting != "question" || len(m.s.Messages) != 0 {
			t.Fatalf("planner %+v, messages %v", m.s.Agents["planner"], m.s.Messages)
		}
		m.command("answer", map[string]any{"text": "1"})
		if m.s.Agents["planner"].Launch != "1.planner.1" || m.s.Agents["planner"].Waiting != "" || m.s.Questions[0].Answer != "a" {
			t.Fatalf("planner %+v", m.s.Agents["planner"])
		}
	})
}

func TestProtocolP14Stalls(t *testing.T) {
	silent := orchestrator.AgentReport{Silence: orchestrator.Duration(time.Hour)}
	t.Run("nudged, then gone", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.wait(time.Hour)
		m.report("planner", silent)
		m.report("planner", silent)
		if m.count(orchestrator.EvAgentStalled) != 1 || len(m.s.Messages) != 1 {
			t.Fatalf("%d stalls, %d messages", m.count(orchestrator.EvAgentStalled), len(m.s.Messages))
		}
		m.wait(20 * time.Minute)
		m.report("planner", silent)
		if m.last(orchestrator.EvAgentStalled).Data.(orchestrator.AgentStalledRecord).Action != "relaunched" || m.s.Agents["planner"].Launch != "" {
			t.Fatal("not taken for gone")
		}
	})
	t.Run("a tool line ends the silence", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.wait(time.Hour)
		m.tool("report_status", "planner", map[string]any{"message": "reading"}, nil)
		m.report("planner", silent)
		if m.count(orchestrator.EvAgentStalled) != 0 {
			t.Error("stalled")
		}
	})
	t.Run("open question", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.wait(time.Hour)
		m.report("planner", silent)
		if m.count(orchestrator.EvAgentStalled) != 0 {
			t.Error("stalled")
		}
	})
	t.Run("unknown dialog", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.report("planner", orchestrator.AgentReport{Dialog: "Trust this?"})
		m.parked(orchestrator.ReasonAgentDialog)
		m.resume("")
		if m.s.Agents["planner"].Launch == "" {
			t.Error("not started again")
		}
	})
	t.Run("interactive", func(t *testing.T) {
		m := newSim(t, "quick", interactive)
		m.wait(time.Hour)
		for range 3 {
			m.wait(time.Hour)
			m.report("planner", silent)
		}
		m.report("planner", orchestrator.AgentReport{Dialog: "Trust this?"})
		m.report("planner", orchestrator.AgentReport{TurnEnded: "turn 1"})
		m.timer("phase")
		m.timer("total")
		if m.count(orchestrator.EvAgentStalled) != 1 || m.count(orchestrator.EvLimitReached) != 2 {
			t.Errorf("%d stalls, %d limits", m.count(orchestrator.EvAgentStalled), m.count(orchestrator.EvLimitReached))
		}
		if m.s.Ended() || len(m.s.Messages) > 0 || m.s.Agents["planner"].Launch != "1.planner.1" {
			t.Errorf("outcome %q, messages %v, planner %+v", m.s.Outcome, m.s.Messages, m.s.Agents["planner"])
		}
	})
}

func TestProtocolC5SubmissionAndServer(t *testing.T) {
	lost := orchestrator.AgentReport{Condition: orchestrator.AgentAbsent, ServerLost: true}
	t.Run("one failure takes all launches and counts once", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("parallel", 3)
		for range 2 {
			for _, key := range []orchestrator.AgentKey{"coder/1", "coder/2", "coder/3"} {
				m.report(key, lost)
			}
			m.wait(time.Minute)
		}
		if m.s.Ended() {
			t.Fatalf("parked after two failures: %q", m.s.OutcomeReason)
		}
		if a := m.s.Agents["coder/2"]; a.Attempt != 3 || a.Retries != 0 || a.Launch == "" {
			t.Fatalf("coder 2: %+v", a)
		}
		m.report("coder/1", lost)
		m.parked(orchestrator.ReasonAgentStalled)
	})
	t.Run("three within ten minutes, whichever they are", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		for _, after := range []time.Duration{0, 9 * time.Minute, 2 * time.Minute} {
			m.wait(after)
			m.report("planner", lost)
		}
		if m.s.Ended() {
			t.Fatal("three failures in eleven minutes park")
		}
		m.wait(2 * time.Minute)
		m.report("planner", lost)
		m.parked(orchestrator.ReasonAgentStalled)
	})
	t.Run("a killed pane is an exit", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.report("planner", orchestrator.AgentReport{Condition: orchestrator.AgentAbsent})
		if m.s.Agents["planner"].Launch != "" || m.s.Agents["planner"].Retries != 1 {
			t.Fatalf("planner %+v", m.s.Agents["planner"])
		}
	})
	t.Run("a submission beats the exit", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		launch := m.s.Agents["planner"].Launch
		m.planned("serial", 1)
		code := 0
		m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
			Key: "planner", Launch: launch, Condition: orchestrator.AgentDead, ExitCode: &code,
		}})
		m.phase("implementing")
		if len(m.s.Deadlines) != 3 { // the phase, the session, the next checkpoint
			t.Errorf("deadlines %v", m.s.Deadlines)
		}
	})
}

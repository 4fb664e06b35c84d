package orchestrator_test

import (
	"slices"
	"strings"
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
	if !slices.Equal(m.ran(), []string{"1.planner.1", "1.planner.2"}) {
		t.Fatalf("ran %v", m.ran())
	}
	m.exit("planner", 0)
	m.parked(orchestrator.ReasonAgentStalled)
	if m.count(orchestrator.EvAgentFailed) != 1 {
		t.Error("no agent_failed")
	}
	exits := 0
	for _, e := range m.events {
		if e.Type == orchestrator.EvAgentExited && e.Data["launch"] == "1.planner.1" {
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
		if m.last(orchestrator.EvAgentStalled).Data["action"] != "relaunched" || m.s.Agents["planner"].Launch != "" {
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

func TestInteractiveExitAsksThePerson(t *testing.T) {
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

func TestNoAgentCanAskInTheNameOfTheSession(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("ask_human", "planner", map[string]any{"id": "host-1", "question": "Stop?"}, nil)
	m.command("answer", map[string]any{"text": "stop"})
	if m.s.Ended() || m.s.Questions[0].ID != "q1" {
		t.Errorf("outcome %q, question %+v", m.s.Outcome, m.s.Questions[0])
	}
}

func TestProtocolP15PauseOverADeadline(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.command("pause", nil)
	m.refused("pause", nil)
	due := m.s.Deadlines["phase"]
	m.wait(5 * time.Hour)
	m.fire("phase")
	m.fire("total")
	if m.s.Ended() || m.count(orchestrator.EvLimitReached) != 0 {
		t.Fatal("a limit fired in a pause")
	}
	m.command("resume", nil)
	if got := m.s.Deadlines["phase"].Sub(due.Time); got < 5*time.Hour || got > 5*time.Hour+5*time.Second {
		t.Errorf("deadline moved by %s", got)
	}
}

func TestProtocolP15PauseHoldsLaunchesAndTransitions(t *testing.T) {
	t.Run("integrate", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 2)
		integrating := func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate }
		for i := 1; i <= 2; i++ {
			m.hold = integrating
			m.coded(i)
			m.command("pause", nil)
			m.hold = nil
			m.settle()
			if m.s.SubplanStatus[m.s.CompletedSubplans[i-1]] != orchestrator.SubplanDone {
				t.Fatal("the result was not taken")
			}
			m.phase("implementing")
			if len(m.live()) > 0 {
				t.Fatalf("started in a pause: %v", m.live())
			}
			m.command("resume", nil)
		}
		m.phase("reviewing")
	})
	t.Run("fix", func(t *testing.T) {
		m := newSim(t, "feature", nil)
		m.toReview("serial", 1)
		m.fails("reviewer_logic")
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate }
		m.fixed()
		m.command("pause", nil)
		m.hold = nil
		m.settle()
		m.phase("fixing")
		m.command("resume", nil)
		m.phase("reviewing")
	})
	t.Run("completion", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.toReview("serial", 1)
		m.pass("reviewer_logic")
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCommit }
		m.summary("reviewer_logic")
		for _, step := range []string{orchestrator.EffPush, orchestrator.EffPR, orchestrator.EffLastCompletion, ""} {
			m.command("pause", nil)
			m.hold = nil
			m.settle()
			m.phase("completing")
			m.hold = func(e orchestrator.Effect) bool { return e.Type == step }
			m.command("resume", nil)
		}
		m.phase(orchestrator.PhaseDone)
	})
	t.Run("a submission waits, its agent's exit does not make it stale", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 1)
		m.command("pause", nil)
		cursor := m.s.ToolCursor
		m.coded(1)
		if m.s.ToolCursor != cursor || m.s.SubplanStatus["1"] != orchestrator.SubplanRunning {
			t.Fatal("the line was consumed")
		}
		m.exit("coder/1", 0)
		if m.last(orchestrator.EvAgentExited).Data["launch"] != "2.coder.1.1" {
			t.Fatal("the exit was not recorded")
		}
		m.command("resume", nil)
		m.coded(1)
		m.phase("reviewing")
	})
	t.Run("an exit in a pause is decided afterwards", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.command("pause", nil)
		m.exit("planner", 1)
		if m.s.Agents["planner"].Launch == "" {
			t.Fatal("decided in the pause")
		}
		m.command("resume", nil)
		m.exit("planner", 1)
		if m.s.Agents["planner"].Launch != "" || m.count(orchestrator.EvAgentExited) != 1 {
			t.Fatalf("planner %+v, %d exits", m.s.Agents["planner"], m.count(orchestrator.EvAgentExited))
		}
	})
	t.Run("messages and answers", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("planner", 0)
		m.command("pause", nil)
		m.command("answer", map[string]any{"text": "this"})
		if len(m.live()) > 0 || m.s.Messages[0].State != orchestrator.MessageQueued {
			t.Fatalf("live %v, message %+v", m.live(), m.s.Messages[0])
		}
		m.command("resume", nil)
		if m.s.Agents["planner"].Launch != "1.planner.2" || m.s.Messages[0].State != orchestrator.MessageDelivered {
			t.Fatalf("live %v, message %+v", m.live(), m.s.Messages[0])
		}
	})
	t.Run("gate", func(t *testing.T) {
		m := newSim(t, "quick", interactive)
		m.toReview("serial", 1)
		m.pass("reviewer_logic")
		m.summary("reviewer_logic")
		m.command("pause", nil)
		m.refused("approve", nil)
		m.refused("changes", map[string]any{"text": "more"})
		m.refused("retry", nil)
		m.see(orchestrator.Observation{What: orchestrator.ObserveApproval, Evidence: "a", Approval: &orchestrator.Approval{}})
		m.phase("completing")
		m.command("resume", nil)
		m.command("approve", nil)
		m.phase(orchestrator.PhaseDone)
	})
	t.Run("levels", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.command("pause", nil)
		before := m.s.Seq
		m.report("planner", orchestrator.AgentReport{Dialog: "Trust?"})
		m.report("planner", orchestrator.AgentReport{TurnEnded: "turn 1"})
		m.report("planner", orchestrator.AgentReport{Condition: orchestrator.AgentAbsent, ServerLost: true})
		if m.s.Seq != before {
			t.Error("a level input counted in a pause")
		}
	})
}

func TestProtocolP19WhatDoesNotCount(t *testing.T) {
	t.Run("unanswered question", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.LimitHumanWait = 0 })
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("planner", 0)
		m.wait(30 * time.Hour)
		m.fire("phase")
		m.fire("total")
		if m.s.Ended() {
			t.Fatalf("ended: %q", m.s.Cause)
		}
		m.command("answer", map[string]any{"text": "this"})
		m.fire("phase")
		m.fire("total")
		if m.s.Ended() || m.s.Deadlines["phase"].Before(m.now.Add(110*time.Minute)) {
			t.Fatalf("outcome %q, phase limit at %s, now %s", m.s.Outcome, m.s.Deadlines["phase"], m.now)
		}
	})
	t.Run("an agent that goes on working beside its question counts", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.timer("phase")
		m.phase(orchestrator.PhaseFailed)
		if m.count(orchestrator.EvLimitReached) != 1 || !strings.Contains(string(m.s.Cause), "limits.phase") {
			t.Errorf("cause %q", m.s.Cause)
		}
	})
	t.Run("one waits, another works", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("parallel", 2)
		m.tool("ask_human", "coder/1", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("coder/1", 0)
		m.timer("phase")
		m.phase(orchestrator.PhaseFailed)
	})
	t.Run("rate limit of 5 h", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.toReview("serial", 1)
		m.report("reviewer_logic", orchestrator.AgentReport{RateLimited: true, Silence: orchestrator.Duration(time.Minute)})
		m.wait(5 * time.Hour)
		for _, name := range []string{"phase", "review", "total"} {
			m.fire(name)
		}
		m.report("reviewer_logic", orchestrator.AgentReport{RateLimited: true, Silence: orchestrator.Duration(5 * time.Hour)})
		m.report("reviewer_logic", orchestrator.AgentReport{Silence: orchestrator.Duration(5 * time.Hour)})
		for _, name := range []string{"phase", "review", "total"} {
			m.fire(name)
		}
		if m.s.Ended() || m.count(orchestrator.EvAgentStalled) != 0 || m.s.Agents["reviewer_logic"].Attempt != 1 {
			t.Fatalf("outcome %q, %d stalls, reviewer %+v", m.s.Outcome, m.count(orchestrator.EvAgentStalled), m.s.Agents["reviewer_logic"])
		}
	})
	t.Run("research that the only running agent waits for", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.tool("research_dispatch_web", "planner", map[string]any{"topic": "auth", "questions": []string{"where?"}}, nil)
		m.exit("planner", 0)
		m.wait(20 * time.Hour)
		m.fire("phase")
		m.fire("total")
		m.phase("planning")
	})
	t.Run("open gate", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApprovePlan, s.Settings.LimitHumanWait = true, 0 })
		m.planned("serial", 1)
		m.wait(30 * time.Hour)
		m.fire("phase")
		m.fire("total")
		m.command("approve", nil)
		m.fire("total")
		m.phase("implementing")
		if left := m.s.Deadlines["phase"].Sub(m.now); left < 119*time.Minute || left > 2*time.Hour {
			t.Errorf("%s are left of the phase", left)
		}
	})
	t.Run("pause within a wait", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.LimitHumanWait = 0 })
		total := m.s.Deadlines["total"]
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("planner", 0)
		m.wait(time.Hour)
		m.command("pause", nil)
		m.wait(time.Hour)
		m.command("resume", nil)
		m.wait(time.Hour)
		m.command("answer", map[string]any{"text": "x"})
		if moved := m.s.Deadlines["total"].Sub(total.Time); moved < 3*time.Hour || moved > 3*time.Hour+10*time.Second {
			t.Errorf("moved by %s", moved)
		}
	})
	t.Run("ten serial subplans", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 10)
		for i := 1; i <= 10; i++ {
			m.wait(time.Hour)
			m.fire("phase")
			m.coded(i)
		}
		m.phase("reviewing")
	})
}

func TestProtocolC5SubmissionAndServer(t *testing.T) {
	lost := orchestrator.AgentReport{Condition: orchestrator.AgentAbsent, ServerLost: true}
	t.Run("one failure takes all launches and counts once", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("parallel", 3)
		for range 2 {
			for _, key := range []string{"coder/1", "coder/2", "coder/3"} {
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
		if len(m.s.Deadlines) != 2 {
			t.Errorf("deadlines %v", m.s.Deadlines)
		}
	})
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

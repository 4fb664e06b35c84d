package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

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
}

func TestProtocolP15PauseAndAgents(t *testing.T) {
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
		if m.last(orchestrator.EvAgentExited).Data.(orchestrator.AgentExitedRecord).Launch != "2.coder.1.1" {
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
}

// What comes in a pause wakes nobody. The agent that waited for it must not count as waiting
// when the session goes on: its limits would stand still for good.
func TestAnAnswerInAPauseEndsTheWait(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
	m.report("planner", orchestrator.AgentReport{TurnEnded: "turn 1"})
	m.command("pause", nil)
	m.command("answer", map[string]any{"text": "this"})
	m.command("resume", nil)
	if a := m.s.Agents["planner"]; a.Waiting != "" || a.Launch != "1.planner.1" {
		t.Errorf("planner %+v", a)
	}
	if duty.StandsStill(m.def, m.s) {
		t.Error("the limits do not count")
	}
	if got := m.s.Messages[0]; got.State != orchestrator.MessageDelivered {
		t.Errorf("answer %+v", got)
	}
}

// What the output gate finds in a pause leads nowhere until the pause is over.
func TestFindingsInAPauseAreNoTransition(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.result = completion(orchestrator.EffCommit, orchestrator.Result{Findings: []string{"secret in a.go:3"}})
	m.toEnd()
	m.parked(orchestrator.ReasonOutputGate)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCommit }
	m.resume("")
	m.command("pause", nil)
	m.hold = nil
	m.settle()
	m.phase("completing")
	if !m.s.Paused || m.s.ChangeRequest != "" {
		t.Fatalf("paused %v, change request %q", m.s.Paused, m.s.ChangeRequest)
	}
	m.command("resume", nil)
	m.phase("planning")
	if !strings.Contains(string(m.s.ChangeRequest), "secret in a.go:3") {
		t.Errorf("change request %q", m.s.ChangeRequest)
	}
}

func TestProtocolP15PauseAtAGate(t *testing.T) {
	t.Run("gate", func(t *testing.T) {
		m := newSim(t, "quick", interactive)
		m.toReview("serial", 1)
		m.pass("reviewer_logic")
		m.summary("reviewer_logic")
		m.command("pause", nil)
		m.refused("approve", nil)
		m.refused("changes", map[string]any{"text": "more"})
		m.refused("retry", nil)
		m.see(orchestrator.Observation{What: orchestrator.ObserveApproval, Evidence: "a", Approval: &orchestrator.Approval{Of: m.s.GateDigest()}})
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
}

func TestProtocolP19OtherWaits(t *testing.T) {
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

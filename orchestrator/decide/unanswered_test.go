package decide_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// parksAfter has a session of an issue give its host back after ten minutes.
func parksAfter(s *orchestrator.State) {
	s.IssueNumber, s.Settings.ApprovePlan = 1, true
	s.Settings.ParkAfter = orchestrator.Duration(10 * time.Minute)
}

// TestGitHub76NothingToDoBeforeAnAnswerParks is part of row 76 of github section 15: an open question or gate
// with no agent at work parks the session after ten minutes, and the answer continues it.
func TestGitHub76NothingToDoBeforeAnAnswerParks(t *testing.T) {
	t.Run("question", func(t *testing.T) {
		m := newSim(t, "quick", parksAfter)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("planner", 0)
		m.wait(9 * time.Minute)
		m.fire("park")
		if m.s.Ended() {
			t.Fatal("parked too early")
		}
		m.wait(time.Minute)
		m.fire("park")
		m.parked(orchestrator.ReasonQuestion)
		m.command("answer", map[string]any{"text": "this one"})
		m.phase("planning")
		if _, armed := m.s.Deadlines["park"]; armed || m.s.Ended() {
			t.Errorf("outcome %q, deadlines %v", m.s.Outcome, m.s.Deadlines)
		}
	})
	t.Run("gate", func(t *testing.T) {
		m := newSim(t, "quick", parksAfter)
		m.planned("serial", 1)
		m.wait(10 * time.Minute)
		m.fire("park")
		m.parked(orchestrator.ReasonGateTimeout)
		m.command("approve", nil)
		m.phase("implementing")
	})
	t.Run("not while an agent works", func(t *testing.T) {
		m := newSim(t, "quick", parksAfter)
		m.tool("research_dispatch_web", "planner", map[string]any{"topic": "auth", "questions": []string{"where?"}}, nil)
		m.tool("ask_human", "planner", map[string]any{"id": "q1", "question": "Which?"}, nil)
		m.exit("planner", 0)
		if at, armed := m.s.Deadlines["park"]; armed {
			t.Errorf("parks at %v while a researcher works", at)
		}
	})
	t.Run("not where the host stays", func(t *testing.T) {
		m := newSim(t, "quick", func(s *orchestrator.State) { s.Settings.ApprovePlan = true })
		m.planned("serial", 1)
		if at, armed := m.s.Deadlines["park"]; armed {
			t.Errorf("parks at %v", at)
		}
	})
	t.Run("not where another host would find nothing", func(t *testing.T) {
		m := newSim(t, "quick", parksAfter)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint }
		m.planned("serial", 1)
		if _, armed := m.s.Deadlines["park"]; !armed {
			t.Fatal("it does not park")
		}
		m.hold, m.result = nil, func(e orchestrator.Effect) orchestrator.Result {
			if e.Type == orchestrator.EffCheckpoint {
				return orchestrator.Result{Path: "ref", Commit: "c", Refused: "secret.x: a.txt line 1"}
			}
			return orchestrator.Result{}
		}
		m.settle()
		if at, armed := m.s.Deadlines["park"]; armed || m.s.Stays == "" {
			t.Errorf("parks at %v, stays %q", at, m.s.Stays)
		}
	})
	t.Run("not after the answer", func(t *testing.T) {
		m := newSim(t, "quick", parksAfter)
		m.planned("serial", 1)
		m.wait(9 * time.Minute)
		m.command("approve", nil)
		m.wait(2 * time.Minute)
		m.fire("park")
		m.phase("implementing")
	})
}

package decide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// handedIn are submissions that lead out of each phase, and where to.
var handedIn = map[string]struct {
	reach  func(m *sim)
	submit func(m *sim)
	next   string
}{
	"product_management": {toStage(0), func(m *sim) {
		m.tool("submit_pm_done", "product-manager", map[string]any{}, textArtifact("requirements.md"))
	}, "architecting"},
	"architecting": {toStage(1), func(m *sim) { m.architecture("reviewer_quality") }, "planning"},
	"planning":     {toStage(2), func(m *sim) { m.tool("submit_plan", "planner", map[string]any{}, plan("parallel", 2, true)) }, "designing"},
	"designing": {toStage(3), func(m *sim) {
		m.tool("submit_design", "designer", map[string]any{}, textArtifact("05_design/design.md"))
	}, "implementing"},
	"implementing":    {toStage(4), func(m *sim) { m.coded(2) }, "reviewing"},
	"reviewing, fail": {toStage(5), func(m *sim) { m.fails("reviewer_quality") }, "fixing"},
	"fixing":          {toStage(6), func(m *sim) { m.fixed() }, "reviewing"},
	"summary": {func(m *sim) {
		toStage(6)(m)
		m.fixed()
		m.pass("reviewer_quality")
	}, func(m *sim) { m.summary("reviewer_quality") }, orchestrator.PhaseDone},
}

func toStage(last int) func(m *sim) {
	return func(m *sim) {
		for _, stage := range stages[:last+1] {
			stage.reach(m)
		}
	}
}

// Row R7: what an agent of a paused session handed in before its host handed over is taken, whichever phase it ends. The step that
// follows, and every launch, waits on the other machine until a person ends the pause.
func TestProtocolR7WhatWasHandedInDuringAPauseIsTaken(t *testing.T) {
	for name, c := range handedIn {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "feature", func(s *orchestrator.State) { s.ProductManager = true })
			c.reach(m)
			phase, handed := m.s.Phase, m.count(orchestrator.EvSubmission)
			m.command("pause", nil)
			m.parting = true
			c.submit(m)
			m.parting = false
			started := m.count(orchestrator.EvAgentStarted)
			m.move(func(string) bool { return true })
			m.wait(5 * time.Hour)
			m.fire("phase")
			if d, _ := m.last(orchestrator.EvMoved).Data.(orchestrator.MovedRecord); !d.Paused || !m.s.Paused || m.count(orchestrator.EvSubmission) != handed+1 {
				t.Fatalf("paused %v, recorded %+v, %d submissions", m.s.Paused, d, m.count(orchestrator.EvSubmission)-handed)
			}
			if m.phase(phase); len(m.live()) > 0 || m.count(orchestrator.EvAgentStarted) != started {
				t.Fatalf("live %v, %d launches", m.live(), m.count(orchestrator.EvAgentStarted)-started)
			}
			m.command("resume", nil)
			m.phase(c.next)
			if d := m.s.Deadlines["phase"]; c.next != orchestrator.PhaseDone && d.Before(m.now) {
				t.Errorf("the deadline of %s is %s, and it is %s", c.next, d, m.now)
			}
			if m.s.Held != (orchestrator.Held{}) || m.count(orchestrator.EvSubmission) != handed+1 {
				t.Errorf("held %+v, %d submissions", m.s.Held, m.count(orchestrator.EvSubmission)-handed)
			}
		})
	}
}

// Row R7: an agent works on in a pause, and that work is saved each time it is due. What it hands in is taken, and
// saved at once; the step that follows waits here, too.
func TestProtocolR7APausedSessionIsSaved(t *testing.T) {
	saves := func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint }
	for name, c := range handedIn {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "feature", func(s *orchestrator.State) { s.ProductManager = true })
			c.reach(m)
			phase, handed := m.s.Phase, m.count(orchestrator.EvSubmission)
			m.command("pause", nil)
			m.wait(time.Hour)
			for range 3 {
				m.hold = saves
				m.fire("checkpoint")
				if due := m.s.Deadlines["checkpoint"]; !slices.ContainsFunc(m.s.Pending, saves) || !due.After(m.now) {
					t.Fatalf("pending %v, the next checkpoint at %s, now %s", m.s.Pending, due, m.now)
				}
				m.hold = nil
				m.settle()
				if slices.ContainsFunc(m.s.Pending, saves) {
					t.Fatalf("pending %v", m.s.Pending)
				}
				m.wait(m.s.Settings.CheckpointEvery.D() + time.Minute)
			}
			m.parting, m.hold = true, saves
			c.submit(m)
			m.parting = false
			if !slices.ContainsFunc(m.s.Pending, saves) {
				t.Error("the session is not saved behind it")
			}
			m.hold = nil
			m.settle()
			started := m.count(orchestrator.EvAgentStarted)
			if m.phase(phase); !m.s.Paused || m.count(orchestrator.EvSubmission) != handed+1 || m.count(orchestrator.EvAgentStarted) != started {
				t.Fatalf("paused %v, %d submissions, %d launches", m.s.Paused, m.count(orchestrator.EvSubmission)-handed, m.count(orchestrator.EvAgentStarted)-started)
			}
			m.command("resume", nil)
			m.phase(c.next)
			if due, armed := m.s.Deadlines["checkpoint"]; armed && due.Sub(m.now) > m.s.Settings.CheckpointEvery.D() {
				t.Errorf("the next checkpoint comes in %s", due.Sub(m.now))
			}
		})
	}
}

// Row R7: a session that a person has continue elsewhere is not paused any more, and takes the step that the pause has held up.
func TestProtocolR7APersonWhoTakesASessionEndsItsPause(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.command("pause", nil)
	m.parting = true
	m.tool("submit_plan", "planner", map[string]any{}, plan("serial", 1, false))
	to := m.s.Settings
	m.do(orchestrator.Input{Kind: orchestrator.InStart, Start: &orchestrator.Start{
		Mode: orchestrator.StartMoved, Settings: &to, Moved: &orchestrator.Move{Asked: true, Dir: "/here/s1", Settings: to},
	}})
	m.do(orchestrator.Input{Kind: orchestrator.InOwed, Start: &orchestrator.Start{Live: []orchestrator.Launch{}}})
	m.phase("implementing")
	if d, _ := m.last(orchestrator.EvMoved).Data.(orchestrator.MovedRecord); d.Paused || m.s.Paused || len(m.live()) != 1 {
		t.Errorf("paused %v, recorded %+v, live %v", m.s.Paused, d, m.live())
	}
}

// Row R7: a paused session that an agent handed nothing in of is paused elsewhere; its agent starts when the pause is over.
func TestProtocolR7APauseIsKeptElsewhere(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.planned("serial", 1)
	m.command("pause", nil)
	m.move(func(string) bool { return true })
	if len(m.live()) > 0 || !m.s.Paused {
		t.Fatalf("paused %v, live %v", m.s.Paused, m.live())
	}
	m.refused("retry", nil)
	m.command("resume", nil)
	if live := m.live(); len(live) != 1 || live[0] != "2.coder.1.2" {
		t.Errorf("live %v", live)
	}
	m.coded(1)
	m.phase("reviewing")
}

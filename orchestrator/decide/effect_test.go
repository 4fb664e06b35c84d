package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/invariant"
)

func TestLocalEffectsAreTriedFiveTimes(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffIntegrate }
	m.planned("serial", 1)
	m.coded(1)
	for _, pause := range []time.Duration{1, 2, 4, 8} {
		m.failing(orchestrator.EffIntegrate, orchestrator.FailLocal)
		if got := m.s.Pending[0].NotBefore.Sub(m.now); got != pause*time.Second {
			t.Fatalf("tried again after %s, want %s", got, pause*time.Second)
		}
	}
	m.failing(orchestrator.EffIntegrate, orchestrator.FailLocal)
	m.phase(orchestrator.PhaseFailed)
	if m.s.Outcome != orchestrator.OutcomeFailed || m.last(orchestrator.EvEffectFailed).Data.(orchestrator.EffectFailedRecord).Final != true {
		t.Errorf("outcome %q", m.s.Outcome)
	}
	m.hold = nil
	m.resume("")
	m.phase("reviewing")
}

func TestRemoteEffectsAreTriedUntilTheirLimit(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffPush }
	m.toEnd()
	m.failing(orchestrator.EffPush, orchestrator.FailRemote)
	m.do(orchestrator.Input{Kind: orchestrator.InEffectFailed, Effect: &orchestrator.Outcome{
		ID: m.s.Pending[0].ID, Error: "slow down", Class: orchestrator.FailRemote, Wait: orchestrator.Duration(7 * time.Minute),
	}})
	if got := m.s.Pending[0].NotBefore.Sub(m.now); got != 7*time.Minute {
		t.Errorf("the wanted pause is %s", got)
	}
	for range 10 {
		m.wait(2 * time.Minute)
		m.failing(orchestrator.EffPush, orchestrator.FailLocal)
		if got := m.s.Pending[0].NotBefore.Sub(m.now); got > 5*time.Minute {
			t.Fatalf("pause of %s", got)
		}
	}
	m.wait(10 * time.Minute)
	m.failing(orchestrator.EffPush, orchestrator.FailRemote)
	m.parked(orchestrator.ReasonPushRejected)
}

// The time during which the account was refused does not count, however long it was.
func TestGitHub85WhatIsOwedWaitsForTheAccount(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffPush }
	m.toEnd()
	for range 60 {
		m.wait(2 * time.Hour)
		m.failing(orchestrator.EffPush, orchestrator.FailAway)
		if got := m.s.Pending[0].NotBefore.Sub(m.now); got <= 0 || got > 2*time.Minute {
			t.Fatalf("pause of %s", got)
		}
	}
	m.wait(29 * time.Minute)
	m.failing(orchestrator.EffPush, orchestrator.FailRemote)
	if len(m.s.Pending) == 0 || m.s.Ended() {
		t.Fatal("the limit counts from before the account was back")
	}
	m.wait(time.Minute)
	m.failing(orchestrator.EffPush, orchestrator.FailRemote)
	m.parked(orchestrator.ReasonPushRejected)
}

func TestFinalFailures(t *testing.T) {
	for kind, want := range map[string]string{
		orchestrator.EffCommit: orchestrator.ReasonCommitRefused,
		orchestrator.EffPush:   orchestrator.ReasonPushRejected,
		orchestrator.EffPR:     orchestrator.ReasonPRRefused,
	} {
		t.Run(kind, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.hold = func(e orchestrator.Effect) bool { return e.Type == kind }
			m.toEnd()
			m.failing(kind, orchestrator.FailNever)
			m.parked(want)
		})
	}
	t.Run("the last note of a finished session", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffLastCompletion }
		m.toEnd()
		m.failing(orchestrator.EffLastCompletion, orchestrator.FailNever)
		m.phase(orchestrator.PhaseDone)
	})
	t.Run("what others wait for", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffEnsureWorkspace }
		m.planned("serial", 1)
		m.failing(orchestrator.EffEnsureWorkspace, orchestrator.FailNever)
		m.phase(orchestrator.PhaseFailed)
		if !strings.Contains(string(m.s.Cause), orchestrator.EffEnsureWorkspace) {
			t.Errorf("cause %q", m.s.Cause)
		}
	})
	t.Run("a stop that fails takes what waits for it along", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.work = untaken
		m.planned("serial", 1)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStopAgent }
		m.coded(1)
		m.failing(orchestrator.EffStopAgent, orchestrator.FailNever)
		m.phase(orchestrator.PhaseFailed)
		if m.count(orchestrator.EvEffectFailed) != 2 {
			t.Errorf("%d failed effects are recorded", m.count(orchestrator.EvEffectFailed))
		}
	})
	t.Run("a stop of a launch that leaves", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.planned("serial", 1)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStopAgent }
		m.coded(1)
		m.failing(orchestrator.EffStopAgent, orchestrator.FailNever)
		m.phase("reviewing") // its work was taken before
		if n := m.count(orchestrator.EvEffectFailed); n != 3 || len(m.s.Leaving) != 0 {
			t.Errorf("%d failed effects are recorded, of which its late work and its workspace are two; leaving %v", n, m.s.Leaving)
		}
	})
	t.Run("after the end", func(t *testing.T) {
		m := newSim(t, "quick", nil)
		m.hold = func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffStopAgent }
		m.command("stop", nil)
		m.failing(orchestrator.EffStopAgent, orchestrator.FailNever)
		if m.s.Outcome != orchestrator.OutcomeCanceled || len(m.s.Pending) != 0 {
			t.Errorf("outcome %q, pending %v", m.s.Outcome, m.s.Pending)
		}
	})
}

func TestProtocolS3NoOtherLastEvent(t *testing.T) {
	m := newSim(t, "quick", nil)
	m.s.LastEvent = "something_else"
	if err := invariant.Check(m.def, m.s); err == nil || !strings.Contains(err.Error(), "something_else") {
		t.Errorf("check: %v", err)
	}
	if _, err := decide.Reduce(m.def, m.s, orchestrator.Input{Kind: orchestrator.InOverwritten, At: m.now}); err == nil {
		t.Error("a thirteenth event was written")
	}
}

func TestBrokenStatesEndTheRunAndAreNamed(t *testing.T) {
	for name, breaking := range map[string]func(*orchestrator.State){
		"phase done with outcome":          func(s *orchestrator.State) { s.Phase = orchestrator.PhaseDone },
		"phase failed with outcome":        func(s *orchestrator.State) { s.Phase = orchestrator.PhaseFailed },
		"phase failed with last_event":     func(s *orchestrator.State) { s.Phase, s.Outcome = orchestrator.PhaseFailed, orchestrator.OutcomeFailed },
		"with outcome \"done\"":            func(s *orchestrator.State) { s.Outcome = orchestrator.OutcomeDone },
		"not in the workflow":              func(s *orchestrator.State) { s.Phase = "resting" },
		"group index 3 of 1":               func(s *orchestrator.State) { s.GroupIndex = 3 },
		"group mode":                       func(s *orchestrator.State) { s.GroupMode = "" },
		"active and completed":             func(s *orchestrator.State) { s.CompletedSubplans = []string{"1"} },
		"subplan 9 is not in the schedule": func(s *orchestrator.State) { s.ActivePlanIDs = []string{"9"} },
		"without a schedule":               func(s *orchestrator.State) { s.Schedule = nil },
	} {
		t.Run(name, func(t *testing.T) {
			m := newSim(t, "quick", nil)
			m.planned("serial", 1)
			breaking(m.s)
			err := invariant.Check(m.def, m.s)
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
				return
			}
			step, err := decide.Fail(m.def, m.s, m.now, err.Error())
			if err != nil || step.State.Phase != orchestrator.PhaseFailed && m.s.Phase != orchestrator.PhaseDone {
				t.Errorf("%s: not ended: %v", name, err)
			}
		})
	}
	if _, err := decide.Reduce(nil, orchestrator.NewState(), orchestrator.Input{Kind: "rumour"}); err == nil {
		t.Error("an unknown input was taken")
	}
}

package duty_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

func TestComing(t *testing.T) {
	feature, _, problems := workflows.Load("feature", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for phase, want := range map[string]int{
		"architecting": 1, "planning": 4, "designing": 4, "implementing": 1, "reviewing": 1, "fixing": 1, "completing": 0,
		orchestrator.PhaseDone: 0, "of another workflow": 0,
	} {
		s := &orchestrator.State{Phase: phase, Settings: orchestrator.Settings{Parallel: 4}}
		if got := duty.Coming(feature, s); got != want {
			t.Errorf("in %s %d, want %d", phase, got, want)
		}
		if s.Outcome = orchestrator.OutcomeCanceled; duty.Coming(feature, s) != 0 {
			t.Errorf("in %s after the end: %d", phase, duty.Coming(feature, s))
		}
	}
	two := &orchestrator.State{Phase: "implementing", Nominations: []string{"reviewer_logic", "reviewer_quality"}}
	if got := duty.Coming(feature, two); got != 2 {
		t.Errorf("before two reviewers %d", got)
	}
}

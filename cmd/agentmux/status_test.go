package main

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// What status proposes is what the session takes.
func TestTheNextStepIsOneThatIsTaken(t *testing.T) {
	gate := &orchestrator.Gate{Name: orchestrator.GateCompletion}
	open := []orchestrator.Question{{ID: "q1"}}
	for _, c := range []struct {
		name  string
		state orchestrator.State
		want  string
	}{
		{"a gate", orchestrator.State{Gate: gate}, `agentmux approve one, or agentmux changes "..." one`},
		{"a gate in a pause", orchestrator.State{Gate: gate, Paused: true}, "agentmux resume one"},
		{"a question", orchestrator.State{Questions: open}, `agentmux answer ID "..." --session one`},
		{"a question in a pause", orchestrator.State{Questions: open, Paused: true}, "agentmux resume one"},
		{"a park in a pause, at a gate", orchestrator.State{Gate: gate, Paused: true, Outcome: orchestrator.OutcomeNeedsHuman},
			`agentmux approve one, or agentmux changes "..." one`},
		{"a branch that failed its review and went nowhere", orchestrator.State{
			Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeNeedsHuman, OutcomeReason: orchestrator.ReasonReviewExhausted,
			FeatureBranch: "agentmux/one", Completion: orchestrator.Completion{Commit: "c"},
		}, "git merge agentmux/one"},
		{"an open pull request", orchestrator.State{
			Phase: orchestrator.PhaseDone, Outcome: orchestrator.OutcomeDone, FeatureBranch: "agentmux/one",
			Completion: orchestrator.Completion{Commit: "c", Pushed: true, PRNumber: 7},
		}, `review the pull request; agentmux changes "..." one asks for another round`},
	} {
		if c.state.Phase == "" {
			c.state.Phase = "completing"
		}
		if got := nextStep(session.Entry{Name: "one", Running: !c.state.Ended(), State: &c.state}); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

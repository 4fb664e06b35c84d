package duty_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
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

// Of an agents file those start next that wait for agents at work, not those behind one that waits or
// failed.
func TestComingOfATeam(t *testing.T) {
	team, problems := agents.Parse("a.yml", []byte(`session: x
agents:
  - {name: a, branch: a, task: t}
  - {name: b, branch: b, task: t}
  - {name: c, branch: c, task: t, depends_on: a}
  - {name: d, branch: d, task: t, depends_on: [a, b]}
  - {name: e, branch: e, task: t, depends_on: c}
`), agents.Known{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	def := workflows.OfTeam(team)
	for name, c := range map[string]struct {
		team map[string]agents.Progress
		want int
	}{
		"both work": {nil, 2},
		"a is done": {map[string]agents.Progress{"a": {Marker: "0"}}, 1},
		"b failed":  {map[string]agents.Progress{"b": {Marker: "1"}}, 1},
		"a failed":  {map[string]agents.Progress{"a": {Marker: "1"}}, 0},
		"both done": {map[string]agents.Progress{"a": {Marker: "0"}, "b": {Marker: "0"}}, 0},
	} {
		s := &orchestrator.State{Phase: workflows.TeamPhase, Team: c.team, Agents: map[orchestrator.AgentKey]orchestrator.Agent{
			"build/a": {LastLaunch: "1.build.a.1"}, "build/b": {LastLaunch: "1.build.b.1"},
		}}
		if got := duty.Coming(def, s); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

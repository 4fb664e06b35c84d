package tenure_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/orchestrator"
)

// A session gives its slot to others while none of its agents can work.
func TestGitHub81ASessionIdlesWhileAllItsAgentsWait(t *testing.T) {
	works := orchestrator.Agent{Launch: "coder-1"}
	asks := orchestrator.Agent{Launch: "coder-2", Waiting: "question"}
	limited := orchestrator.Agent{Launch: "coder-3", Limited: true}
	left := orchestrator.Agent{Waiting: "ask"} // its program ended with its turn
	later := map[string]orchestrator.Time{orchestrator.RelaunchTimer("coder/0"): {Time: time.Unix(1, 0)}}
	for name, c := range map[string]struct {
		state orchestrator.State
		idles bool
	}{
		"nobody is there":            {},
		"one works":                  {state: orchestrator.State{Agents: agents(works, asks, limited)}},
		"each asks":                  {state: orchestrator.State{Agents: agents(asks, left)}, idles: true},
		"the service lets one wait":  {state: orchestrator.State{Agents: agents(limited)}, idles: true},
		"the service ended one":      {state: orchestrator.State{Agents: agents(orchestrator.Agent{Limited: true}), Deadlines: later}, idles: true},
		"one that is lost":           {state: orchestrator.State{Agents: agents(orchestrator.Agent{}), Deadlines: later}},
		"one asks, one has to wait":  {state: orchestrator.State{Agents: agents(asks, limited, orchestrator.Agent{})}, idles: true},
		"at a gate":                  {state: orchestrator.State{Gate: &orchestrator.Gate{}}, idles: true},
		"a person paused it":         {state: orchestrator.State{Agents: agents(limited), Paused: true}},
		"the session asks about one": {state: orchestrator.State{Agents: agents(works), Questions: []orchestrator.Question{{ID: "host-1", Role: "coder", Task: "0"}}}, idles: true},
		"it has asked, and was told": {state: orchestrator.State{Agents: agents(works), Questions: []orchestrator.Question{{ID: "host-1", Role: "coder", Task: "0", AnsweredAt: orchestrator.Time{Time: time.Unix(1, 0)}}}}},
		"nobody was started so far":  {state: orchestrator.State{Agents: agents(orchestrator.Agent{})}},
	} {
		if got := tenure.Idles(&c.state); got != c.idles {
			t.Errorf("%s: idles %v", name, got)
		}
	}
}

// agents are those of a state, by their keys.
func agents(all ...orchestrator.Agent) map[orchestrator.AgentKey]orchestrator.Agent {
	m := map[orchestrator.AgentKey]orchestrator.Agent{}
	for i, a := range all {
		m[orchestrator.KeyOf("coder", fmt.Sprint(i))] = a
	}
	return m
}

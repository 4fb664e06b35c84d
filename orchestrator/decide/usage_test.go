package decide_test

import (
	"testing"

	"github.com/agentmux/agentmux/internal/usage"
	"github.com/agentmux/agentmux/orchestrator"
)

// What a launch used is in the record of its end, whether it ended by itself or was stopped, and in
// one record only.
func TestTheEndOfALaunchTellsItsUsage(t *testing.T) {
	gone, stopped := usage.Usage{Input: 100, Output: 1}, usage.Usage{Input: 20, Output: 2, Money: 0.5}
	m := newSim(t, "quick", nil)
	m.result = func(e orchestrator.Effect) orchestrator.Result {
		if e.Type != orchestrator.EffStopAgent {
			return orchestrator.Result{}
		}
		return orchestrator.Result{ExitCode: new(int), Usage: &stopped}
	}
	m.do(orchestrator.Input{Kind: orchestrator.InAgent, Agent: &orchestrator.AgentReport{
		Key: "planner", Launch: "1.planner.1", Condition: orchestrator.AgentDead, ExitCode: new(int), Usage: &gone,
	}})
	m.timer("relaunch/planner")
	m.planned("serial", 1)
	told := map[orchestrator.Launch][]usage.Usage{}
	for _, e := range m.events {
		if d, ok := e.Data.(orchestrator.AgentExitedRecord); ok {
			if d.Usage == nil {
				t.Fatalf("%+v", d)
			}
			told[d.Launch] = append(told[d.Launch], *d.Usage)
		}
	}
	for launch, want := range map[orchestrator.Launch]usage.Usage{"1.planner.1": gone, "1.planner.2": stopped} {
		if len(told[launch]) != 1 || told[launch][0] != want {
			t.Errorf("the records of %s tell %+v, want %+v once", launch, told[launch], want)
		}
	}
}

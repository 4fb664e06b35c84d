package duty_test

import (
	"slices"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows"
)

// implementing is a session with a running and a resolved, a submitted and a pending subplan.
func implementing() *orchestrator.State {
	s := orchestrator.NewState()
	s.Phase, s.Visit, s.GroupMode = "implementing", 4, "parallel"
	s.SubplanStatus = map[string]string{
		"1": orchestrator.SubplanRunning, "2": orchestrator.SubplanRunning, "3": orchestrator.SubplanSubmitted, "4": orchestrator.SubplanPending,
	}
	s.ActivePlanIDs = []string{"1", "2", "3"}
	s.Conflicts = map[string][]string{"2": {"go.mod"}}
	s.Schedule = &orchestrator.Schedule{Owned: map[string][]string{"1": {"a/"}, "2": {"b/"}}}
	return s
}

func TestWhoseWorkACallHandsIn(t *testing.T) {
	def, _, problems := workflows.Load("feature", nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	fixing := implementing()
	fixing.Phase, fixing.SubplanStatus = "fixing", map[string]string{"1": orchestrator.SubplanDone, orchestrator.FixTask: orchestrator.SubplanRunning}
	for name, c := range map[string]struct {
		s                     *orchestrator.State
		tool, index           string
		key                   orchestrator.AgentKey
		task, workspace, none string
		owned                 []string
	}{
		"a coder":           {s: implementing(), tool: "submit_done", index: "1", key: "coder/1", task: "1", workspace: "4.1", owned: []string{"a/"}},
		"who resolves":      {s: implementing(), tool: "submit_done", index: "2", key: "coder/resolve-2", task: "2", workspace: "4.resolve-2", owned: []string{"b/", "go.mod"}},
		"the fixer":         {s: fixing, tool: "submit_done", index: "7", key: "coder", task: orchestrator.FixTask, workspace: "4.fix"},
		"submitted before":  {s: implementing(), tool: "submit_done", index: "3"},
		"not its turn":      {s: implementing(), tool: "submit_done", index: "4"},
		"not in the plan":   {s: implementing(), tool: "submit_done", index: "9"},
		"another tool":      {s: implementing(), tool: "submit_plan"},
		"of another phase":  {s: &orchestrator.State{Phase: "reviewing"}, tool: "submit_done", index: "1"},
		"after the session": {s: &orchestrator.State{Phase: orchestrator.PhaseDone}, tool: "submit_done", index: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			call := duty.Call{Tool: c.tool, Role: "coder"}
			if c.index != "" {
				index := orchestrator.Index(c.index)
				call.Payload.SubplanIndex = &index
			}
			o, task, ok := duty.Handed(def, c.s, call)
			if ok != (c.key != "") || task != c.task {
				t.Fatalf("task %q of %+v, %v", task, o, ok)
			}
			if ok && (o.Key() != c.key || o.Workspace != c.workspace || !slices.Equal(duty.OwnedFiles(c.s, o, task), c.owned)) {
				t.Errorf("agent %+v, owns %v", o, duty.OwnedFiles(c.s, o, task))
			}
		})
	}
	before := implementing()
	o, task, _ := duty.Submitter(def, before, "2")
	duty.OwnedFiles(before, o, task)[0] = "changed"
	if before.Schedule.Owned["2"][0] != "b/" {
		t.Error("the list of the state was changed")
	}
}

func TestNamesOfWorkspacesSayTheirVisit(t *testing.T) {
	for name, c := range map[string]struct {
		visit int
		task  string
		owned bool
	}{
		"4.1": {4, "1", true}, "12.resolve-1": {12, "resolve-1", true}, "4.view/planner": {4, "view/planner", true},
		"1": {0, "1", false}, "session": {0, "session", false}, "view/web-researcher/go1.24": {0, "view/web-researcher/go1.24", false},
	} {
		t.Run(name, func(t *testing.T) {
			if visit, task, owned := duty.OfVisit(name); visit != c.visit || task != c.task || owned != c.owned {
				t.Errorf("visit %d, task %q, %v", visit, task, owned)
			}
		})
	}
}

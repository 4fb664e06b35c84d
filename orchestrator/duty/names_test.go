package duty_test

import (
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

func TestTasksOfSubplans(t *testing.T) {
	for name, c := range map[string]struct {
		task, subplan string
		resolves      bool
	}{
		"the work":     {"2", "2", false},
		"its conflict": {duty.ResolveTask("2"), "2", true},
		"none":         {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := duty.SubplanOf(c.task); got != c.subplan || duty.Resolves(c.task) != c.resolves {
				t.Errorf("subplan %q, resolves %v", got, duty.Resolves(c.task))
			}
		})
	}
}

func TestResearchRoles(t *testing.T) {
	for name, c := range map[string]struct {
		role, kind string
		researches bool
	}{
		"code":    {duty.ResearchRole("code"), "code", true},
		"web":     {"web-researcher", "web", true},
		"another": {"planner", "planner", false},
	} {
		t.Run(name, func(t *testing.T) {
			kind, ok := duty.ResearchKind(c.role)
			if kind != c.kind || ok != c.researches || duty.Researches(c.role) != ok {
				t.Errorf("kind %q, %v", kind, ok)
			}
		})
	}
}

func TestViews(t *testing.T) {
	s := &orchestrator.State{Visit: 4}
	for name, c := range map[string]struct {
		key  orchestrator.AgentKey
		view string
	}{
		"role":       {"planner", "4.view/planner"},
		"researcher": {"code-researcher/auth", "view/code-researcher/auth"},
	} {
		t.Run(name, func(t *testing.T) {
			view := duty.View(s, c.key)
			if view != c.view || !duty.IsView(view) || duty.IsView(string(c.key)) || duty.Viewer(view) != c.key {
				t.Errorf("view %q of %q", view, duty.Viewer(view))
			}
		})
	}
}

func TestAWorkspaceOfAnEarlierVersionKeepsItsName(t *testing.T) {
	for name, c := range map[string]struct {
		have map[string]orchestrator.Workspace
		work string
	}{
		"none":             {nil, "4.2"},
		"a parallel coder": {map[string]orchestrator.Workspace{"2": {Used: 4}}, "2"},
		"a serial coder":   {map[string]orchestrator.Workspace{"session": {Used: 4}}, "session"},
		"its work is in":   {map[string]orchestrator.Workspace{"session": {Used: 0, Visit: 4}}, "4.2"},
		"another visit":    {map[string]orchestrator.Workspace{"session": {Used: 3}}, "4.2"},
		"both":             {map[string]orchestrator.Workspace{"session": {Used: 4}, "4.2": {Used: 4}}, "4.2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := duty.Work(&orchestrator.State{Visit: 4, Workspaces: c.have}, "2"); got != c.work {
				t.Errorf("workspace %q, want %q", got, c.work)
			}
		})
	}
}

package toolset_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
)

// Tools are open to the roles that a workflow gives them to.
func TestProtocolA1ToolsOfAWorkflowsOwnRoles(t *testing.T) {
	def, _, problems := workflows.Load("own", fstest.MapFS{workflows.ProjectWorkflows + "/own.yaml": {Data: []byte(`version: 1
name: own
description: Other roles
start: spec
phases:
  - {id: spec, kind: author, dir: 02_spec, role: designer, artifact: 02_spec/spec.md, tool: submit_architecture, event: architecture_written, research: true, next: {submitted: planning}}
  - {id: planning, kind: plan, dir: 04_planning, role: architect, next: {accepted: making}}
  - {id: making, kind: implement, dir: 06_making, role: coder, next: {completed: checking}}
  - {id: checking, kind: review, dir: 07_checking, next: {passed: ending, failed: mending, exhausted: ending}}
  - {id: mending, kind: fix, dir: 06_making, role: planner, next: {completed: checking}}
  - {id: ending, kind: complete, dir: 08_ending, next: {approved: done, changes_requested: planning}}
`)}})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"submit_architecture": {"designer"}, "submit_plan": {"architect"}, "submit_done": {"planner", "coder"},
		"research_dispatch_web": {"designer"}, "submit_design": nil, "submit_pm_done": nil,
		"submit_review": workflows.ReviewRoles(), "submit_research_done": {"code-researcher", "web-researcher"},
	}
	for _, tool := range toolset.All() {
		roles, listed := want[tool.Name]
		if !listed {
			continue
		}
		for _, role := range workflows.Roles() {
			if open := tool.Open(def, role); open != slices.Contains(roles, role) {
				t.Errorf("%s is open to the %s: %t", tool.Name, role, open)
			}
		}
	}
}

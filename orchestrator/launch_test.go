package orchestrator_test

import (
	"encoding/json"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

func TestLaunchParts(t *testing.T) {
	for name, c := range map[string]struct {
		launch orchestrator.Launch
		parts  orchestrator.LaunchParts
		key    orchestrator.AgentKey
	}{
		"role":           {"1.planner.1", orchestrator.LaunchParts{Visit: 1, Role: "planner", Attempt: 1}, "planner"},
		"task":           {"5.coder.1.2", orchestrator.LaunchParts{Visit: 5, Role: "coder", Task: "1", Attempt: 2}, "coder/1"},
		"task of a word": {"9.coder.resolve-2.3", orchestrator.LaunchParts{Visit: 9, Role: "coder", Task: "resolve-2", Attempt: 3}, "coder/resolve-2"},
	} {
		t.Run(name, func(t *testing.T) {
			parts, ok := c.launch.Parts()
			if !ok || parts != c.parts {
				t.Errorf("parts %+v, %v", parts, ok)
			}
			if got := c.parts.Launch(); got != c.launch {
				t.Errorf("launch %s", got)
			}
			if !c.launch.Of(c.parts.Visit) || c.launch.Of(c.parts.Visit+1) {
				t.Error("it is of another visit")
			}
			if key := orchestrator.KeyOf(parts.Role, parts.Task); key != c.key {
				t.Errorf("key %s", key)
			}
		})
	}
}

// What is not a launch of ours has no parts, is of no visit, and keeps its words.
func TestForeignLaunches(t *testing.T) {
	for name, launch := range map[string]orchestrator.Launch{
		"empty": "", "role alone": "planner", "visit of letters": "x.planner.1", "attempt of letters": "1.planner.x", "too many": "1.a.b.c.2",
		"a path": "../1.a.2/x",
	} {
		t.Run(name, func(t *testing.T) {
			if parts, ok := launch.Parts(); ok {
				t.Errorf("%q has the parts %+v", launch, parts)
			}
			data, err := json.Marshal(orchestrator.Line{Launch: launch})
			if err != nil {
				t.Fatal(err)
			}
			var line orchestrator.Line
			if err := json.Unmarshal(data, &line); err != nil || line.Launch != launch {
				t.Errorf("read back as %q, %v", line.Launch, err)
			}
		})
	}
}

func TestAgentKeys(t *testing.T) {
	for name, c := range map[string]struct {
		key                       orchestrator.AgentKey
		role, task, flat, address string
	}{
		"role":            {"planner", "planner", "", "planner", "pipeline/planner"},
		"role and task":   {"coder/1", "coder", "1", "coder-1", "pipeline/coder-1"},
		"task with slash": {"coder/a/b", "coder", "a/b", "coder-a-b", "pipeline/coder-a-b"},
	} {
		t.Run(name, func(t *testing.T) {
			role, task := c.key.Split()
			if role != c.role || task != c.task || c.key.Role() != role {
				t.Errorf("role %q, task %q", role, task)
			}
			if got := orchestrator.KeyOf(role, task); got != c.key {
				t.Errorf("key %q", got)
			}
			if c.key.Flat() != c.flat || c.key.Address() != c.address {
				t.Errorf("flat %q, address %q", c.key.Flat(), c.key.Address())
			}
		})
	}
}

package main

import (
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// An agent runs as the configuration says of its role: in a terminal or not, and with the effort that its provider knows.
func TestAgentsRunAsTheirRolesSay(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "agents: {transport: tui}\n"})
	more := filepath.Join(r.dir, "more.yaml")
	r.write(more, "version: 2\nproviders: {script: {effort: {high: [--no-such-flag]}}}\nroles: {coder: {transport: headless, effort: high}}\n")
	r.quick(exit.Done, "--config", more)
	e, seen := r.session(), map[string]agent.Transport{}
	for _, record := range r.recordsOf(e) {
		started, ok := record.Data.(orchestrator.AgentStartedRecord)
		if !ok {
			continue
		}
		launch, err := agent.ReadLaunch(filepath.Join(e.Dir, session.LaunchesDir, string(started.Launch)))
		if err != nil {
			t.Fatal(err)
		}
		seen[started.Role] = launch.Transport
		if (started.Effort == "high") != (started.Role == "coder") || launch.Effort != started.Effort {
			t.Errorf("%s: effort %q, of its launch %q", started.Launch, started.Effort, launch.Effort)
		}
	}
	for role, want := range map[string]agent.Transport{"coder": agent.Headless, "planner": agent.TUI} {
		if seen[role] != want {
			t.Errorf("%s: %q, want %q", role, seen[role], want)
		}
	}
}

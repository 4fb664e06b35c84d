package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Whether a change outside of its scope fails an agent is agents.scope_policy of the configuration; implement.scope_policy
// is about the subplans of an issue.
func TestAgentsScopePolicyOfTheConfiguration(t *testing.T) {
	t.Parallel()
	const file = "session: shop\nagents:\n  - {name: words, branch: feature/words, task: Write the words, scope: [docs/]}\n"
	for name, c := range map[string]struct {
		config, marker string
	}{
		"fail":               {"agents: {scope_policy: fail}\n", "1\n"},
		"report, built in":   {"implement: {scope_policy: fail}\n", "0\n"},
		"report, on request": {"implement: {scope_policy: fail}\nagents: {scope_policy: report}\n", "0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: teamPlaybook, config: c.config})
			r.write(filepath.Join(r.clone, ".dmux-agents.yml"), file)
			res := r.agentmux("agents", "start", "--yes", "--headless")
			e := r.session()
			if got := r.read(e.Dir, "signals", "words.done"); got != c.marker {
				t.Errorf("marker %q, want %q\n%s%s", got, c.marker, res.out, res.err)
			}
			var reported string
			for _, record := range r.recordsOf(e) {
				if d, ok := record.Data.(orchestrator.ScopeViolationRecord); ok && d.ID == "words" && len(d.Paths) == 1 {
					reported += d.Policy + " " + d.Paths[0].Path
				}
			}
			if failed := c.marker == "1\n"; failed != (res.code == exit.Failed) || failed != (reported == "fail words.txt") || !failed && reported != "report words.txt" {
				t.Errorf("exit %d, reported %q\n%s", res.code, reported, res.err)
			}
		})
	}
}

// An agent that others wait for gets no terminal, unless agents.headless is false.
func TestAgentsHeadlessOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]agent.Transport{"": agent.Headless, ", headless: true": agent.Headless, ", headless: false": agent.TUI} {
		t.Run(strings.TrimPrefix(setting, ", "), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: teamPlaybook, config: "agents: {transport: tui" + setting + "}\n"})
			r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile)
			r.expect(exit.Done, "agents", "start", "--yes", "--headless")
			if got := r.transports(r.session()); got["words"] != want || got["greeting"] != agent.TUI {
				t.Errorf("transports %v", got)
			}
		})
	}
}

// transports are those of the launches of a session, by their tasks.
func (r *rig) transports(e session.Entry) map[string]agent.Transport {
	r.t.Helper()
	found := map[string]agent.Transport{}
	for _, record := range r.recordsOf(e) {
		started, ok := record.Data.(orchestrator.AgentStartedRecord)
		if !ok {
			continue
		}
		launch, err := agent.ReadLaunch(filepath.Join(e.Dir, session.LaunchesDir, string(started.Launch)))
		if err != nil {
			r.t.Fatal(err)
		}
		found[started.Task] = launch.Transport
	}
	return found
}

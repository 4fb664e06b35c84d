package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Whether a change outside of its scope fails an agent is agents.scope_policy of the configuration; implement.scope_policy
// is about the subplans of an issue.
func TestAgentsScopePolicyOfTheConfiguration(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
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
	testfull.Only(t)
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

// The agents file is agents.file of the configuration, but for --file.
func TestAgentsFileOfTheConfiguration(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: teamPlaybook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\nagents: {file: teams/shop.yml}\n")
	if res := r.expect(exit.BadUsage, "agents", "start", "--yes", "--headless"); !strings.Contains(res.err, filepath.Join(r.clone, "teams", "shop.yml")+" cannot be read") {
		t.Errorf("without the file: %s", res.err)
	}
	one := func(session string) string {
		return "session: " + session + "\nagents:\n  - {name: words, branch: " + session + "/words, task: Write the words}\n"
	}
	r.write(filepath.Join(r.clone, "teams", "shop.yml"), "session: shop\nagents: []\n")
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), one("usual"))
	if res := r.expect(exit.BadUsage, "agents", "start", "--yes", "--headless"); !strings.Contains(res.err, "teams/shop.yml:2: agents: ") {
		t.Errorf("a mistake in the file: %s", res.err)
	}
	r.write(filepath.Join(r.clone, "teams", "shop.yml"), one("shop"))
	if err := os.Rename(filepath.Join(r.clone, ".dmux-agents.yml"), filepath.Join(r.clone, "usual.yml")); err != nil {
		t.Fatal(err)
	}
	if res := r.expect(exit.Done, "agents", "start", "--yes", "--headless"); !strings.Contains(res.err, "1 changed file is not included") {
		t.Errorf("the file that is read counts as changed, or the other one does not: %s", res.err)
	}
	if res := r.expect(exit.Done, "agents", "start", "--yes", "--headless", "--file", filepath.Join(r.clone, "usual.yml")); strings.Contains(res.err, "changed file") {
		t.Errorf("a file that is read counts as changed: %s", res.err)
	}
	if got := r.git(r.clone, "branch", "--list", "--format=%(refname:short)", "*/words"); got != "shop/words\nusual/words" {
		t.Errorf("branches %q", got)
	}
	for _, command := range []string{"status", "changelog", "cleanup"} { // of two runs, that of the file
		if res := r.expect(exit.Done, "agents", command); strings.Contains(res.out+res.err, "usual") {
			t.Errorf("%s: %s%s", command, res.out, res.err)
		}
	}
	if text := r.read(r.clone, "AGENTS_CHANGELOG.md"); !strings.Contains(text, "shop/words") {
		t.Errorf("changelog: %s", text)
	}
	if _, err := os.Lstat(filepath.Join(r.dir, "shop-words")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the workspace is there after the cleanup: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(r.dir, "usual-words")); err != nil {
		t.Errorf("the workspace of the other run: %v", err)
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

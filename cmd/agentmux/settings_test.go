package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/internal/testfull"
)

// What a repository tells the CLIs beside instructions is named when a session starts and by
// status; where the person's own file loads it, a person at a terminal is asked first, once.
func TestSecurity28APersonIsToldOfAgentSettings(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook, files: map[string]string{".claude/settings.json": "{}\n", "README.md": "one\n"}})
	start := func(name string, answer string, want ...string) string {
		t.Helper()
		screen := r.terminal("run", "Say "+name, "--workflow", "quick", "--name", name)
		for _, text := range want {
			screen.shows(text)
		}
		if answer != "" {
			screen.press(answer, "Enter")
		}
		r.launched(name)
		return r.expect(0, "status", name).out
	}
	if text := start("ignored", ""); !strings.Contains(text, "settings   agent settings of the repository are not loaded: .claude/settings.json; ") {
		t.Errorf("status does not name what was found:\n%s", text)
	}
	var status show.StatusJSON
	if err := json.Unmarshal([]byte(r.expect(0, "status", "ignored", "--json").out), &status); err != nil {
		t.Fatal(err)
	}
	if s := status.Settings; s == nil || s.Loaded || len(s.Paths) != 1 || !strings.Contains(s.Note, "project_config: base") {
		t.Errorf("status --json: %+v", s)
	}
	own := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	r.write(own, string(text)+"agents: {project_config: base}\n")
	if text := start("refused", "n", ".claude/settings.json", "[y/N]"); !strings.Contains(text, "they are not allowed") {
		t.Errorf("after a no:\n%s", text)
	}
	if text := start("allowed", "y", "[y/N]"); !strings.Contains(text, "agent settings of the base commit are loaded: .claude/settings.json") {
		t.Errorf("after a yes:\n%s", text)
	}
	if text := start("again", ""); !strings.Contains(text, "agent settings of the base commit are loaded") {
		t.Errorf("asked again:\n%s", text)
	}
	for _, name := range []string{"ignored", "refused", "allowed", "again"} {
		r.expect(0, "stop", name)
	}
	r.hostsEnded()
}

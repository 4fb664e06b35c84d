package main

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// One provider refuses the planner more for two hours. The next one takes over at once, in the same session, and what people read
// says so.
func TestProtocolP21AFallbackEndsWhatALimitedProviderBegan(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "roles: {planner: {provider: claude, fallback: [script]}}\n" +
		"agents: {transport: headless}\nsandbox: {unsafe_flags: true}\n"})
	bin := filepath.Join(r.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	const program = "#!/bin/sh\necho '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"API Error: 429, try again in 2 hours\"}'\nexit 1\n"
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	r.setEnv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	r.setEnv("ANTHROPIC_API_KEY", rand.Text())
	r.expect(0, "run", "Say two", "--workflow", "quick", "--headless", "--name", "taken")
	e, err := session.Find(r.clone, "taken", nil)
	if err != nil {
		t.Fatal(err)
	}
	records, err := os.ReadFile(filepath.Join(e.Dir, session.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for line := range strings.Lines(string(records)) {
		record, err := orchestrator.ReadEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		switch d := record.Data.(type) {
		case orchestrator.AgentStartedRecord:
			told = append(told, strings.TrimSpace("started "+d.Role+" "+d.Provider+" "+d.FallbackFor))
		case orchestrator.AgentWaitingRecord:
			told = append(told, "waiting "+d.Role+" "+d.For)
			if wait := d.Until.Sub(record.TS.Time).Round(time.Minute); wait != 2*time.Hour {
				t.Errorf("until %s, which is %s", d.Until, wait)
			}
		}
	}
	want := []string{"started planner claude", "waiting planner rate_limit", "started planner script claude", "started coder script"}
	if len(told) < len(want) || !slices.Equal(told[:len(want)], want) || strings.Contains(strings.Join(told[len(want):], ","), "claude") {
		t.Errorf("told %q", told)
	}
	if log := r.expect(0, "logs", "taken").out; !strings.Contains(log, "provider=script fallback_for=claude") {
		t.Errorf("the log does not say who took over:\n%s", log)
	}
	if a := e.State.Agents["planner"]; a.Attempt != 2 || a.Retries != 0 {
		t.Errorf("planner %+v", a)
	}
}

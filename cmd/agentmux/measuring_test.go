package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestMeasuredSession runs the session of docs/measuring.md as the page says, with the agent and
// the configuration that it shows.
func TestMeasuredSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	page, err := os.ReadFile("../../docs/measuring.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string) string {
		_, rest, found := strings.Cut(string(page), "```"+kind+"\n")
		text, _, closed := strings.Cut(rest, "```\n")
		if !found || !closed {
			t.Fatalf("the page has no %s", kind)
		}
		return text
	}
	r := newRig(t, rigOptions{})
	program, config := filepath.Join(r.dir, "zero-agent"), filepath.Join(r.dir, "zero.yaml")
	for file, text := range map[string]string{
		program: block("sh"), config: strings.Replace(block("yaml"), "/home/me/zero-agent", program, 1),
	} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.expect(0, "run", "Nothing much", "--workflow", "feature", "--headless", "--config", config)
	e := r.session()
	r.sound(e)
	sess, err := session.Open(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := sess.Events(0)
	if err != nil {
		t.Fatal(err)
	}
	started := 0
	for _, record := range records {
		if record.Type == orchestrator.EvAgentStarted {
			started++
		}
	}
	if started != 8 {
		t.Errorf("%d launches, the page says eight", started)
	}
}

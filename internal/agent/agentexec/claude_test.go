package agentexec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/tmux"
)

// realClaude is a launch of the claude named by AGENTMUX_TEST_CLAUDE with a key and a
// service that refuses connections.
func realClaude(t *testing.T) agent.LaunchSpec {
	t.Helper()
	program := os.Getenv("AGENTMUX_TEST_CLAUDE")
	if program == "" {
		t.Skip("AGENTMUX_TEST_CLAUDE is not set")
	}
	s := newSpec(t, "claude")
	s.Provider.Command = program
	s.Unattended, s.AllowUnsafe = true, true
	// Hooks call this script instead of our binary.
	s.Self = filepath.Join(t.TempDir(), "self")
	writeFile(t, s.Self, "#!/bin/sh\nshift; cat >\""+s.Workdir+"/hook.$7\"; echo '{}'\n", 0o700)
	s.Env.Lookup = lookup(map[string]string{"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdefghijklmnop", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
	return s
}

func TestClaudeKnowsTheFlags(t *testing.T) {
	s := realClaude(t)
	probe, err := s.Provider.Probe(t.Context(), os.Getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	if len(probe.Missing) > 0 || !probe.Known {
		t.Errorf("probe: %+v", probe)
	}
}

func TestClaudeStartsWithoutADialog(t *testing.T) {
	s := realClaude(t)
	prepare(t, s)
	server, pane := inPane(t, s)
	shows(t, server, pane.ID, "attempt")
	for _, hook := range []string{"SessionStart", "UserPromptSubmit"} {
		eventually(t, "hook "+hook, func() bool { return exists(filepath.Join(s.Workdir, "hook."+hook)) })
	}
	out, err := server.Capture(t.Context(), pane.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, s.Line) || s.Provider.Screen(out) != signal.Working {
		t.Errorf("screen:\n%s", out)
	}
	inFront(t, pane.PID)
	start, err := process.StartTime(pane.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Stop(t.Context(), process.Process{PID: pane.PID, Start: start}, s.Dir); err != nil {
		t.Fatal(err)
	}
	if e := exitOf(t, s); !e.Stopped {
		t.Errorf("record %+v", e)
	}
	t.Logf("hook input: %s", readFile(t, filepath.Join(s.Workdir, "hook.UserPromptSubmit")))
}

func TestClaudeTakesTypedLines(t *testing.T) {
	s := realClaude(t)
	s.Line = ""
	prepare(t, s)
	server, pane := inPane(t, s)
	hook := filepath.Join(s.Workdir, "hook.UserPromptSubmit")
	for _, line := range []string{"Read and follow the instructions in /s/a.md", "New ask from coder/1: read @/s/msgs/1.md and act on it."} {
		eventually(t, "claude is idle", func() bool {
			out, err := server.Capture(t.Context(), pane.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			return s.Provider.Screen(out) == signal.Idle
		})
		out, err := server.Submit(t.Context(), pane.ID, line, tmux.SubmitOptions{Pause: s.Provider.Pause})
		if err != nil || out.Delivery != tmux.Sent {
			screen, _ := server.Capture(t.Context(), pane.ID, 0)
			t.Fatalf("%+v, %v\n%s", out, err, screen)
		}
		eventually(t, "hook for the line", func() bool { return exists(hook) && strings.Contains(readFile(t, hook), line) })
		shows(t, server, pane.ID, "attempt")
		if _, err := server.SendKey(t.Context(), pane.ID, "Escape"); err != nil {
			t.Fatal(err)
		}
	}
}

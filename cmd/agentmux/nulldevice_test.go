package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/orchestrator"
)

// The null device is a character device, but not a terminal: cron, systemd and
// `command </dev/null >/dev/null &` give it to a command.
func TestTheNullDeviceIsNotATerminal(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put("old", orchestrator.PhaseDone, 48, 1)
	for _, args := range [][]string{{"clean"}, {"monitor", "old"}, {"attach", "old"}} {
		t.Run(args[0], func(t *testing.T) {
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			cmd := s.command(args...)
			var said bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = null, null, &said
			_ = cmd.Run()
			if err := null.Close(); err != nil {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != exit.BadUsage || !strings.Contains(said.String(), "terminal") {
				t.Errorf("%v: exit %d, said %q", args, code, said.String())
			}
		})
	}
	if got := s.names(); got != "old" {
		t.Errorf("left: %q", got)
	}
}

package main

import (
	"os/exec"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
)

// TestIssueStartedAtOnce starts an issue several times at the same moment: one command
// makes the session and leads it to its end, the others say that it is being worked on.
func TestIssueStartedAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a whole session")
	}
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	var starts []*exec.Cmd
	for range 4 {
		cmd := r.command(append([]string{"issue", "1"}, quickRun...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		starts = append(starts, cmd)
	}
	codes := map[int]int{}
	for _, cmd := range starts {
		_ = cmd.Wait() // the exit code says more
		codes[cmd.ProcessState.ExitCode()]++
	}
	if codes[exit.Done] != 1 || codes[exit.Locked] != 3 {
		t.Errorf("exit codes and how often: %v, want one 0 and three 4", codes)
	}
	r.done(r.session())
}

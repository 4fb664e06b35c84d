package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestIssueStartedAtOnce starts an issue several times at the same moment: one command
// makes the session and leads it to its end, the others say that it is being worked on.
func TestIssueStartedAtOnce(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
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

// TestResumeStartedAtOnce continues a session whose host was killed several times at the same moment: one command
// has it, with the claim that the killed one left, and the others name that process.
func TestResumeStartedAtOnce(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	first := r.background(append([]string{"issue", "1"}, quickRun...)...)
	e := r.atWork("coder")
	claimed := r.claimRef()
	first.exit(syscall.SIGKILL)
	var all []*background
	for range 3 {
		all = append(all, r.background("resume", "--headless"))
	}
	isOver := func(b *background) bool {
		select {
		case <-b.ended:
			return true
		default:
			return false
		}
	}
	r.eventually("one runs the session", func() bool {
		running := slices.DeleteFunc(slices.Clone(all), isOver)
		return len(running) == 1 && r.recorded(e, orchestrator.EvResumed, "")
	}, nil)
	at := slices.IndexFunc(all, func(b *background) bool { return !isOver(b) })
	want := fmt.Sprintf("is run by process %d on ", all[at].cmd.Process.Pid)
	for i, b := range all {
		if i == at {
			continue
		}
		if code := b.cmd.ProcessState.ExitCode(); code != exit.Locked || !strings.Contains(b.out.String(), want) || !strings.Contains(b.out.String(), "agentmux attach "+e.Name) {
			t.Errorf("exit %d, want %d and %q\n%s", code, exit.Locked, want, b.out.String())
		}
	}
	if now := r.claimRef(); now != claimed {
		t.Errorf("the claim is %q, and was %q", now, claimed)
	}
	if code := all[at].exit(syscall.SIGINT); code != exit.Canceled {
		t.Errorf("exit %d\n%s", code, all[at].out.String())
	}
	if left := r.ourRefs(); len(left) > 0 {
		t.Errorf("left on the server: %v", left)
	}
}

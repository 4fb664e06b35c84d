package agent_test

import (
	"os/exec"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
)

func TestStopSparesAnotherProcessWithTheSameID(t *testing.T) {
	s := newSpec(t, "script")
	prepare(t, s)
	bystander := exec.Command("/bin/sleep", "600")
	// The same launch of another session.
	bystander.Env = []string{"AGENTMUX_LAUNCH=" + s.Launch, "AGENTMUX_MARK=0123456789abcdef0123456789abcdef"}
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	start, err := process.StartTime(bystander.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Stop(t.Context(), process.Process{PID: bystander.Process.Pid, Start: start - 1}, s.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := process.StartTime(bystander.Process.Pid); err != nil {
		t.Error("a process of another launch was ended")
	}
}

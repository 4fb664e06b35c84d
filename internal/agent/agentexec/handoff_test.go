package agentexec_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/shield"
)

// The environment of a launch goes to the process of its pane and to no other process of the
// user.
func TestSecurity35OnlyThePanesProcessGetsTheEnvironment(t *testing.T) {
	s := program(t, "environ")
	s.Provider.Env = []string{"THE_KEY"}
	s.Env.Lookup = lookup(map[string]string{"THE_KEY": "very-secret-value"})
	l, err := agent.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	h, err := l.Offer(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	// Another process of this user comes first.
	thief, err := shield.Dial(l.Socket, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	cmd := agentExec(t, s)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := h.Serve(t.Context(), cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(thief); len(got) > 0 {
		t.Errorf("another process read %d bytes, %v", len(got), err)
	}
	if _, err := io.ReadAll(out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A host is killed before the hand-off; the next host serves the same process.
func TestAnAgentExecWaitsForTheNextHost(t *testing.T) {
	s := program(t, "exit7")
	first, err := agent.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	killed, err := first.Offer(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := agentExec(t, s)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if agent.Started(s.Dir) {
		t.Error("it has started without an environment")
	}
	second, err := agent.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	if second.Socket == first.Socket {
		t.Error("the second socket has the name of the first")
	}
	h, err := second.Offer(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Serve(t.Context(), cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(first.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the first socket: %v", err)
	}
	if err := h.Serve(t.Context(), cmd.Process.Pid); err != nil {
		t.Errorf("a launch that has its environment: %v", err)
	}
}

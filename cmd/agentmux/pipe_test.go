package main

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// A run works on when the program that reads what it says has ended.
func TestARunOutlivesTheReaderOfItsOutput(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := r.command(append([]string{"issue", "1"}, quickRun...)...)
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	lines := bufio.NewReader(read)
	for line := ""; !strings.HasPrefix(line, "session "); {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	_ = read.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the run ended: %v", err)
	}
	if e := r.session(); e.State.Phase != orchestrator.PhaseDone || len(r.github.Repo(rigRepo).Pulls()) != 1 {
		t.Errorf("it is %s, pull requests %v", e.State.Phase, r.github.Repo(rigRepo).Pulls())
	}
}

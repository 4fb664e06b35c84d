package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestSessionsSideBySide has one process host AGENTMUX_SESSIONS sessions whose agents all go
// to work at the same moment, and looks that each comes to its own pull request.
func TestSessionsSideBySide(t *testing.T) {
	testfull.Only(t)
	t.Parallel()
	n := fromEnv(t, "AGENTMUX_SESSIONS", 3)
	r := newRig(t, rigOptions{})
	gate := filepath.Join(r.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	// Opening the FIFO to read blocks until it is opened to write.
	wait := "      - run: {argv: [cat, \"" + gate + "\"]}\n"
	r.write(filepath.Join(r.dir, "playbook.yaml"), strings.Replace(quickPlaybook, "  - role: planner\n    steps:\n", "  - role: planner\n    steps:\n"+wait, 1))
	f := manned(t, r, n, append([]string{"--no-mirror"}, quickRun...)...)
	f.settle()
	idle, err := readSpent(f.host.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	open, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	f.awaitHost(time.Duration(n)*20*time.Second + runLimit)
	took := time.Since(start)
	branches := map[string]bool{}
	for _, e := range f.sessions() {
		f.sound(e)
		if e.State.Outcome != orchestrator.OutcomeDone || e.State.Completion.PRNumber == 0 {
			t.Errorf("%s: phase %s, outcome %s %s", e.Name, e.State.Phase, e.State.Outcome, e.State.OutcomeReason)
		}
		branches[e.State.FeatureBranch] = true
	}
	pulls := f.github.Repo(rigRepo).Pulls()
	if len(branches) != n || len(pulls) != n {
		t.Errorf("%d sessions have %d branches and %d pull requests", n, len(branches), len(pulls))
	}
	usage, ok := f.ended.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("no usage")
	}
	t.Logf("%d sessions to the end in %s; host: %.0f MB at rest, %.0f MB at most, %.1f s CPU with git and tmux", n, took.Round(time.Second/10),
		float64(idle.pss)/1e6, float64(usage.Maxrss)*1024/1e6, (f.ended.UserTime() + f.ended.SystemTime()).Seconds())
}

// awaitHost returns when the process that hosts the sessions has ended by itself, because
// all of them had.
func (f *fleet) awaitHost(limit time.Duration) {
	f.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f.host.Wait() }()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case err := <-ended:
		if err != nil {
			f.t.Fatalf("host: %v", err)
		}
		f.ended, f.host = f.host.ProcessState, nil
	case <-deadline.C:
		_ = f.host.Process.Kill()
		<-ended
		f.host = nil
		for _, e := range f.sessions() {
			f.t.Logf("%s: phase %s, outcome %s", e.Name, e.State.Phase, e.State.Outcome)
		}
		f.t.Fatalf("sessions did not end within %s", limit)
	}
}

package agentexec_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
)

// brood starts what a shell of an agent leaves running: a child in the background, one that
// ignores HUP, and one in a session of its own whose parent has ended. Each writes its id and
// becomes sleep(1).
const brood = `note() { echo $1 >>brood; }
sleep 600 & note $!
nohup sleep 600 >/dev/null 2>&1 & note $!
(setsid sh -c 'echo $$ >>brood; exec sleep 600' </dev/null >/dev/null 2>&1 &)
`

const brooded = 3

// startBrood starts the brood, waits until all of it runs and marks this program as ready.
func startBrood() error {
	if err := exec.Command("/bin/sh", "-c", brood).Run(); err != nil {
		return err
	}
	for {
		if data, err := os.ReadFile("brood"); err == nil && strings.Count(string(data), "\n") == brooded {
			break
		}
		<-time.NewTimer(5 * time.Millisecond).C
	}
	mark("ready", os.Getpid())
	return nil
}

// broodOf returns the program and the processes of the brood.
func broodOf(t *testing.T, s agent.LaunchSpec) []int {
	t.Helper()
	pids := []int{readPID(t, s)}
	for _, line := range strings.Fields(readFile(t, filepath.Join(s.Workdir, "brood"))) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		if ended(pid) {
			t.Fatalf("process %d of the brood has ended by itself", pid)
		}
		pids = append(pids, pid)
	}
	if len(pids) != brooded+1 {
		t.Fatalf("processes %v", pids)
	}
	return pids
}

func allEnded(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if !ended(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
}

func TestGrandchildrenEndWithTheLaunch(t *testing.T) {
	t.Parallel()
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		s := program(t, "brood")
		prepare(t, s)
		p := startExec(t, s)
		pids := broodOf(t, s)
		if err := agent.Stop(t.Context(), p, s.Dir); err != nil {
			t.Fatal(err)
		}
		allEnded(t, pids)
	})
	t.Run("the program is killed", func(t *testing.T) {
		t.Parallel()
		s := program(t, "brood")
		prepare(t, s)
		_, pane := inPane(t, s)
		pids := broodOf(t, s)
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "agent-exec ends", func() bool { return ended(pane.PID) })
		allEnded(t, pids)
		if e := exitOf(t, s); e.Strays != brooded || e.Signal != "KILL" {
			t.Errorf("record %+v", e)
		}
	})
	t.Run("agent-exec is killed", func(t *testing.T) {
		t.Parallel()
		s := program(t, "brood")
		prepare(t, s)
		p := startExec(t, s)
		pids := broodOf(t, s)
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "agent-exec has ended", func() bool { return ended(p.PID) })
		if err := agent.Stop(t.Context(), p, s.Dir); err != nil {
			t.Fatal(err)
		}
		allEnded(t, pids)
	})
	for name, signal := range map[string]syscall.Signal{"the tmux server is killed": syscall.SIGKILL, "the tmux server ends": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := program(t, "brood")
			prepare(t, s)
			_, pane := inPane(t, s)
			pids := broodOf(t, s)
			if err := syscall.Kill(parent(t, pane.PID), signal); err != nil {
				t.Fatal(err)
			}
			eventually(t, "agent-exec ends", func() bool { return ended(pane.PID) })
			allEnded(t, pids)
			if e := exitOf(t, s); !e.Stopped {
				t.Errorf("record %+v", e)
			}
		})
	}
}

// parent returns the parent of a pane's first process: the tmux server.
func parent(t *testing.T, pid int) int {
	t.Helper()
	out, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || parent <= 1 {
		t.Fatalf("parent %d, %v", parent, err)
	}
	return parent
}

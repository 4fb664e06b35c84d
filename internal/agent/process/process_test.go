package process_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/agent/process"
)

// sleeper starts a program with the variables of the launch in dir and collects it when it
// ends.
func sleeper(t *testing.T, dir string) process.Process {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "600")
	cmd.Env = []string{process.LaunchName + "=" + filepath.Base(dir), process.MarkName + "=" + process.Mark(dir)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	start, err := process.StartTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return process.Process{PID: cmd.Process.Pid, Start: start}
}

func runs(p process.Process) bool {
	start, err := process.StartTime(p.PID)
	return err == nil && start == p.Start
}

func TestStartTimeOfAMissingProcess(t *testing.T) {
	for name, pid := range map[string]int{"negative": -1, "zero": 0, "above every id": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			if _, err := process.StartTime(pid); !errors.Is(err, process.ErrNotFound) {
				t.Errorf("StartTime(%d): %v, want ErrNotFound", pid, err)
			}
		})
	}
}

func TestSignalSparesALaterProcessWithTheSameID(t *testing.T) {
	p := sleeper(t, "/s/launches/a-1")
	if err := (process.Process{PID: p.PID, Start: p.Start - 1}).End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !runs(p) {
		t.Error("End ended a process with another start time")
	}
	if err := p.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if runs(p) {
		t.Error("the process still runs after End")
	}
}

func TestStopEndsTheProcessesWithTheMark(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "launches", "a-1")
	own, other := sleeper(t, dir), sleeper(t, filepath.Join(t.TempDir(), "launches", "a-1"))
	if err := process.Stop(t.Context(), process.Process{}, process.Mark(dir)); err != nil {
		t.Fatal(err)
	}
	if runs(own) {
		t.Error("a process of the launch still runs")
	}
	if !runs(other) {
		t.Error("Stop ended a launch of the same name of another session")
	}
}

func TestStopAllEndsTheLaunchesOfOneSession(t *testing.T) {
	launches := filepath.Join(t.TempDir(), "launches")
	a, b := sleeper(t, filepath.Join(launches, "a-1")), sleeper(t, filepath.Join(launches, "b-1"))
	other := sleeper(t, filepath.Join(t.TempDir(), "launches", "a-1"))
	ended, err := process.StopAll(t.Context(), launches)
	if err != nil || ended != 2 {
		t.Errorf("StopAll: %d, %v; want 2 processes", ended, err)
	}
	if runs(a) || runs(b) {
		t.Error("a process of the session still runs")
	}
	if !runs(other) {
		t.Error("StopAll ended a launch of another session")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if ended, err := process.StopAll(ctx, launches); err != nil || ended != 0 {
		t.Errorf("StopAll without processes: %d, %v", ended, err)
	}
}

func TestInheritedReadsTheEnvironmentOfAncestors(t *testing.T) {
	if os.Getenv("PROCESS_TEST_ASK") != "" {
		os.Stdout.WriteString("inherited: " + process.Inherited("PROCESS_TEST_SECRET") + "\n")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// env -u starts a child without the variable; the shell above it keeps it.
	cmd := exec.Command("/bin/sh", "-c", `env -u PROCESS_TEST_SECRET PROCESS_TEST_ASK=1 "$0" -test.run=TestInheritedReadsTheEnvironmentOfAncestors; exit`, self)
	cmd.Env = append(os.Environ(), "PROCESS_TEST_SECRET=value")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "inherited: value\n"; len(out) < len(want) || string(out[:len(want)]) != want {
		t.Errorf("output %q, want %q first", out, want)
	}
}

func TestMarkNamesADirectory(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"a trailing slash": {"/s/launches/a-1", "/s/launches/a-1/", true},
		"another session":  {"/s/launches/a-1", "/t/launches/a-1", false},
		"another launch":   {"/s/launches/a-1", "/s/launches/a-2", false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := process.Mark(c.a) == process.Mark(c.b); same != c.same {
				t.Errorf("%s and %s have the same mark: %v, want %v", c.a, c.b, same, c.same)
			}
		})
	}
}

package agentexec_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
)

// program returns a launch whose program is this test binary.
func program(t *testing.T, what string) agent.LaunchSpec {
	t.Helper()
	s := newSpec(t, "script")
	s.Provider.Command = "{self}"
	s.Provider.Interactive = []string{"program", what}
	s.Provider.Headless = s.Provider.Interactive
	return s
}

// handoffs has those of the prepared launches, by the directory of the launch.
var handoffs sync.Map

// prepare prepares a launch and makes its socket, as a host does.
func prepare(t *testing.T, s agent.LaunchSpec) agent.Launch {
	t.Helper()
	l, err := agent.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	h, err := l.Offer(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	handoffs.Store(s.Dir, h)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// serve gives the environment of a prepared launch to the agent-exec process pid.
func serve(t *testing.T, s agent.LaunchSpec, pid int) {
	t.Helper()
	h, ok := handoffs.Load(s.Dir)
	if !ok {
		return
	}
	if err := h.(*agent.Handoff).Serve(t.Context(), pid); err != nil {
		t.Error(err)
	}
}

// A command is what a pane starts, without a pane.
type command struct {
	*exec.Cmd
	t    *testing.T
	spec agent.LaunchSpec
}

// Run starts the command, gives it its environment and waits for its end.
func (c command) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	serve(c.t, c.spec, c.Process.Pid)
	return c.Wait()
}

// Output is Run, and returns the standard output.
func (c command) Output() ([]byte, error) {
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	return out.Bytes(), err
}

func agentExec(t *testing.T, s agent.LaunchSpec) command {
	t.Helper()
	cmd := exec.Command(self(t), "agent-exec", s.Dir)
	cmd.Env = []string{"PANE_SECRET=must-not-be-seen"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return command{cmd, t, s}
}

func exitOf(t *testing.T, s agent.LaunchSpec) agent.Exit {
	t.Helper()
	e, ok, err := agent.ReadExit(s.Dir)
	if err != nil || !ok {
		t.Fatalf("exit record: %v, %v", ok, err)
	}
	return e
}

func readPID(t *testing.T, s agent.LaunchSpec) int {
	t.Helper()
	path := filepath.Join(s.Workdir, "ready")
	eventually(t, "the program is ready", func() bool { return exists(path) })
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func ended(pid int) bool {
	_, err := process.StartTime(pid)
	return errors.Is(err, process.ErrNotFound)
}

func TestExecRecordsHowTheProgramEnded(t *testing.T) {
	code := func(n int) *int { return &n }
	for what, want := range map[string]struct {
		status int
		exit   agent.Exit
	}{
		"exit7":   {7, agent.Exit{Code: code(7)}},
		"segv":    {128 + 15, agent.Exit{Signal: "TERM"}},
		"missing": {127, agent.Exit{Code: code(127)}},
	} {
		t.Run(what, func(t *testing.T) {
			s := program(t, what)
			prepare(t, s)
			if what == "missing" {
				if err := os.Remove(s.Workdir); err != nil {
					t.Fatal(err)
				}
			}
			var failed *exec.ExitError
			if err := agentExec(t, s).Run(); !errors.As(err, &failed) || failed.ExitCode() != want.status {
				t.Errorf("agent-exec: %v, want exit status %d", err, want.status)
			}
			e := exitOf(t, s)
			if e.Signal != want.exit.Signal || (e.Code == nil) != (want.exit.Code == nil) || e.Code != nil && *e.Code != *want.exit.Code {
				t.Errorf("record %+v, want %+v", e, want.exit)
			}
			if e.Stopped || e.Strays != 0 || e.EndedAt.Before(e.StartedAt) || (e.Error != "") != (what == "missing") {
				t.Errorf("record %+v", e)
			}
		})
	}
}

func TestExecGivesTheProgramItsEnvironmentAndNothingElse(t *testing.T) {
	s := program(t, "environ")
	s.Provider.Env = []string{"THE_KEY"}
	s.Env.Lookup = lookup(map[string]string{"THE_KEY": "very-secret-value"})
	l := prepare(t, s)
	if text := readFile(t, filepath.Join(s.Dir, "launch.json")); strings.Contains(text, "very-secret-value") || !strings.Contains(text, "THE_KEY") {
		t.Errorf("launch.json has the value or lacks the name:\n%s", text)
	}
	out, err := agentExec(t, s).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	names := make([]string, len(got))
	for i, v := range got {
		names[i], _, _ = strings.Cut(v, "=")
	}
	if !slices.Equal(names, l.EnvNames) {
		t.Errorf("the program has\n%q\nlaunch.json says\n%q", names, l.EnvNames)
	}
	if !slices.Contains(got, "THE_KEY=very-secret-value") || !slices.Contains(got, "AGENTMUX_LAUNCH="+s.Launch) {
		t.Errorf("the program lacks what it needs: %q", got)
	}
	if !agent.Started(s.Dir) {
		t.Error("the launch is not marked as started")
	}
}

func TestExecRunsALaunchOnce(t *testing.T) {
	s := program(t, "exit7")
	prepare(t, s)
	_ = agentExec(t, s).Run()
	first := exitOf(t, s)
	var failed *exec.ExitError
	if err := agentExec(t, s).Run(); !errors.As(err, &failed) || failed.ExitCode() != 127 {
		t.Errorf("second run: %v", err)
	}
	if second := exitOf(t, s); !second.EndedAt.Equal(first.EndedAt) {
		t.Error("the second run changed the record")
	}
	if _, err := agent.Prepare(s); err == nil {
		t.Error("a launch that has ended was prepared again")
	}
}

func TestExecPassesOnThreeDescriptors(t *testing.T) {
	s := program(t, "descriptors")
	prepare(t, s)
	cmd := agentExec(t, s)
	leak, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	cmd.ExtraFiles = []*os.File{leak, leak}
	var failed *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &failed) || failed.ExitCode() != 3 {
		t.Errorf("the program does not have 3 descriptors: %v", err)
	}
}

func TestExecEndsWhatTheProgramLeftBehind(t *testing.T) {
	s := program(t, "stray")
	prepare(t, s)
	var failed *exec.ExitError
	if err := agentExec(t, s).Run(); !errors.As(err, &failed) || failed.ExitCode() != 3 {
		t.Fatalf("agent-exec: %v", err)
	}
	if pid := readPID(t, s); !ended(pid) {
		t.Errorf("process %d still runs", pid)
	}
	if e := exitOf(t, s); e.Strays != 1 {
		t.Errorf("record %+v", e)
	}
}

func TestStopEndsAProgramThatIgnoresTERM(t *testing.T) {
	t.Parallel()
	s := program(t, "stubborn")
	prepare(t, s)
	p := startExec(t, s)
	pid := readPID(t, s)
	if err := agent.Stop(t.Context(), p, s.Dir); err != nil {
		t.Fatal(err)
	}
	if !ended(pid) || !ended(p.PID) {
		t.Error("a process is left")
	}
	if e := exitOf(t, s); e.Signal != "KILL" || !e.Stopped {
		t.Errorf("record %+v", e)
	}
}

func TestStopFindsWhatADeadAgentExecLeft(t *testing.T) {
	t.Parallel()
	s := program(t, "sleep")
	prepare(t, s)
	p := startExec(t, s)
	pid := readPID(t, s)
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "agent-exec has ended", func() bool { return ended(p.PID) })
	if err := agent.Stop(t.Context(), p, s.Dir); err != nil {
		t.Fatal(err)
	}
	if !ended(pid) {
		t.Errorf("process %d still runs", pid)
	}
}

// startExec starts agent-exec and collects it when it ends.
func startExec(t *testing.T, s agent.LaunchSpec) process.Process {
	t.Helper()
	cmd := agentExec(t, s)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, err := process.StartTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, s, cmd.Process.Pid)
	waited := make(chan struct{})
	go func() { defer close(waited); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = agent.Stop(context.Background(), process.Process{PID: cmd.Process.Pid, Start: start}, s.Dir)
		<-waited
	})
	return process.Process{PID: cmd.Process.Pid, Start: start}
}

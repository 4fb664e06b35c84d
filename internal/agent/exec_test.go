package agent_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/agent"
)

// program is a launch whose program is this test binary.
func program(t *testing.T, what string) agent.LaunchSpec {
	t.Helper()
	s := newSpec(t, "script")
	s.Provider.Command = "{self}"
	s.Provider.Interactive = []string{"program", what}
	s.Provider.Headless = s.Provider.Interactive
	return s
}

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
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.ServeAny(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, h.Close()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return l
}

// agentExec is the command of a pane, without one.
func agentExec(t *testing.T, s agent.LaunchSpec) *exec.Cmd {
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
	return cmd
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

func gone(pid int) bool {
	_, err := agent.ProcessStart(pid)
	return errors.Is(err, agent.ErrNoProcess)
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
	if again, err := agent.ReadLaunch(s.Dir); err != nil || again.Variables() != nil || !agent.Started(s.Dir) {
		t.Errorf("the record of the launch: %+v, %v", again, err)
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
	if again := exitOf(t, s); !again.EndedAt.Equal(first.EndedAt) {
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
		t.Errorf("the program has other than 3 descriptors: %v", err)
	}
}

func TestExecEndsWhatTheProgramLeftBehind(t *testing.T) {
	s := program(t, "stray")
	prepare(t, s)
	var failed *exec.ExitError
	if err := agentExec(t, s).Run(); !errors.As(err, &failed) || failed.ExitCode() != 3 {
		t.Fatalf("agent-exec: %v", err)
	}
	if pid := readPID(t, s); !gone(pid) {
		t.Errorf("process %d is still there", pid)
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
	if !gone(pid) || !gone(p.PID) {
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
	eventually(t, "agent-exec is gone", func() bool { return gone(p.PID) })
	if err := agent.Stop(t.Context(), p, s.Dir); err != nil {
		t.Fatal(err)
	}
	if !gone(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

func TestStopSparesAnotherProcessWithTheSameID(t *testing.T) {
	s := program(t, "sleep")
	prepare(t, s)
	bystander := exec.Command("/bin/sleep", "600")
	// The same launch of another session.
	bystander.Env = []string{"AGENTMUX_LAUNCH=" + s.Launch, "AGENTMUX_MARK=0123456789abcdef0123456789abcdef"}
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	start, err := agent.ProcessStart(bystander.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Stop(t.Context(), agent.Process{PID: bystander.Process.Pid, Start: start - 1}, s.Dir); err != nil {
		t.Fatal(err)
	}
	if gone(bystander.Process.Pid) {
		t.Error("a process that is none of ours was ended")
	}
	if _, err := agent.ProcessStart(-1); !errors.Is(err, agent.ErrNoProcess) {
		t.Errorf("ProcessStart of no process: %v", err)
	}
}

// startExec starts agent-exec and collects it when it ends.
func startExec(t *testing.T, s agent.LaunchSpec) agent.Process {
	t.Helper()
	cmd := agentExec(t, s)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, err := agent.ProcessStart(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() { defer close(waited); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = agent.Stop(context.Background(), agent.Process{PID: cmd.Process.Pid, Start: start}, s.Dir)
		<-waited
	})
	return agent.Process{PID: cmd.Process.Pid, Start: start}
}

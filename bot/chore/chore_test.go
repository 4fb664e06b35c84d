package chore_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/chore"
	"github.com/agentmux/agentmux/internal/agent/agentexec"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/orchestrator/session"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "agent-exec" {
		testexit.Exit(agentexec.Run(context.Background(), os.Args[2], os.Args[3:]...))
	}
	os.Exit(m.Run())
}

// run runs a script as the setup of a workspace and returns what it printed, and the process it noted in the file "pid".
func run(t *testing.T, script string) (shown string, pid int, err error) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, workspace := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, session.TranscriptsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	sess, err := session.OpenDamaged(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := chore.Chores{
		Self: own, Session: sess, Home: filepath.Join(t.TempDir(), "home"), Path: os.Getenv("PATH"), Redactor: redact.New(), Environ: os.LookupEnv,
	}.Setup(workspace)
	err = c.Run(t.Context(), []string{"sh", "-c", script})
	data, failed := os.ReadFile(filepath.Join(dir, c.Log()))
	if failed != nil {
		t.Fatal(failed)
	}
	noted, failed := os.ReadFile(filepath.Join(workspace, "pid"))
	if failed != nil {
		return string(data), 0, err
	}
	if pid, failed = strconv.Atoi(strings.TrimSpace(string(noted))); failed != nil {
		t.Fatal(failed)
	}
	return string(data), pid, err
}

// left fails if the process runs, and ends it.
func left(t *testing.T, pid int) {
	t.Helper()
	if _, err := process.StartTime(pid); !errors.Is(err, process.ErrNotFound) {
		t.Errorf("process %d is left: %v", pid, err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestRunReturnsHowTheCommandEnded(t *testing.T) {
	for script, want := range map[string]int{"echo shown; exit 7": 7, "echo shown; kill -9 $$": 128 + 9} {
		shown, _, err := run(t, script)
		if code := (*exec.ExitError)(nil); !errors.As(err, &code) || code.ExitCode() != want {
			t.Errorf("%s: %v, want code %d", script, err, want)
		}
		if strings.TrimSpace(shown) != "shown" {
			t.Errorf("%s: printed %q", script, shown)
		}
	}
	if _, _, err := run(t, `test "$PWD" = "$(pwd)" && test "$USER" = agent`); err != nil {
		t.Error(err)
	}
}

// A command that ends the process above it leaves nothing that carries the mark of its launch.
func TestSecurity19AChoreThatKillsItsFirstProcess(t *testing.T) {
	_, pid, err := run(t, `setsid sleep 600 & echo $! >pid; kill -9 $PPID; exec sleep 600`)
	if err == nil || pid == 0 {
		t.Errorf("process %d, %v", pid, err)
	}
	left(t, pid)
}

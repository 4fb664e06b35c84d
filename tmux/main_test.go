package tmux_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/tmux"
)

// program selects what this test binary does when a pane starts it.
const program = "TMUX_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(program) {
	case "":
		os.Exit(m.Run())
	case "tui":
		testexit.Exit(runTUI())
	}
	testexit.Exit(64)
}

const tag = "@test_role"

// newServer returns a server on a socket of its own that ends with the test.
func newServer(t *testing.T) *tmux.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	s, err := tmux.New(tmux.Options{Socket: filepath.Join(dir, "s.sock"), Tags: []string{tag, "@test_task"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.KillServer(context.Background()); err != nil {
			t.Errorf("kill server: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	return s
}

// startServer returns a running server with the session "work" and its control window.
func startServer(t *testing.T) *tmux.Server {
	t.Helper()
	s := newServer(t)
	if _, err := s.Ensure(t.Context(), control(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

func control(t *testing.T) tmux.SessionSpec {
	return tmux.SessionSpec{Name: "work", Window: tmux.WindowSpec{
		Name: "control", Command: []string{"/bin/sleep", "600"}, Dir: t.TempDir(),
		Options: map[string]string{tag: "control"},
	}}
}

// window opens a window that runs argv and returns its pane.
func window(t *testing.T, s *tmux.Server, argv ...string) tmux.Pane {
	t.Helper()
	p, err := s.NewWindow(t.Context(), tmux.WindowSpec{Session: "work", Name: "w", Command: argv, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// eventually fails the test when ok does not become true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// dies waits until the pane's program has ended and its exit is known.
func dies(t *testing.T, s *tmux.Server, id string) tmux.Pane {
	t.Helper()
	var p tmux.Pane
	eventually(t, "pane "+id+" dies", func() bool {
		var err error
		p, err = s.Pane(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return p.Dead && (p.ExitStatus >= 0 || p.Signal != "")
	})
	return p
}

// shows waits until the pane shows the text.
func shows(t *testing.T, s *tmux.Server, id, text string) {
	t.Helper()
	eventually(t, "pane shows "+text, func() bool {
		out, err := s.Capture(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(out, text)
	})
}

// raw runs tmux itself on the server's socket, for what the package refuses to do.
func raw(t *testing.T, s *tmux.Server, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "tmux", append([]string{"-S", s.Socket(), "-f", os.DevNull}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

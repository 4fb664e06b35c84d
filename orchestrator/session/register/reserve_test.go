package register_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/internal/testexit"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

const (
	killed = "0123456789abcdef" // of the start that is killed
	next   = "fedcba9876543210"
)

// TestMain lets the test binary be a start that is killed.
func TestMain(m *testing.M) {
	if home := os.Getenv("REGISTER_TEST_HOME"); home != "" {
		ok, err := register.Open(home).Reserve("repo", "feature/a", killed)
		if err != nil || !ok {
			testexit.Exit(1)
		}
		_, _ = os.Stdout.WriteString("reserved\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		testexit.Exit(0)
	}
	os.Exit(m.Run())
}

// starting has another process reserve a branch for a session that it does not make.
func starting(t *testing.T, home string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "REGISTER_TEST_HOME="+home)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if n, err := out.Read(make([]byte, 16)); err != nil || n == 0 {
		t.Fatalf("it reserved nothing: %v", err)
	}
	return cmd
}

// What a start has reserved is kept while its process lives, and free at once when that was killed before the session was made.
func TestAKilledStartReservesNothing(t *testing.T) {
	home := t.TempDir()
	reg := register.Open(home)
	cmd := starting(t, home)
	if ok, err := reg.Reserve("repo", "feature/a", next); err != nil || ok {
		t.Fatalf("while the other one starts: %v, %v", ok, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if id := reg.Holder("repo", "feature/a"); id != "" {
		t.Errorf("it is reserved for %s", id)
	}
	if ok, err := reg.Reserve("repo", "feature/a", next); err != nil || !ok {
		t.Errorf("after it was killed: %v, %v", ok, err)
	}
	if id := reg.Holder("repo", "feature/a"); id != next {
		t.Errorf("it is reserved for %q", id)
	}
}

// Of a process on another machine or in another container, and of one that is not known, nothing says whether it lives: what it
// has reserved is kept for a moment.
func TestWhatAnUnknownProcessReserves(t *testing.T) {
	for name, by := range map[string]any{"elsewhere": map[string]any{"pid": 1 << 30, "start": 7, "where": "another machine"}, "not known": nil} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			reg := register.Open(home)
			if ok, err := reg.Reserve("repo", "feature/a", killed); err != nil || !ok {
				t.Fatal(ok, err)
			}
			files, err := filepath.Glob(filepath.Join(home, "made", "branches", "*.json"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			data, err := json.Marshal(map[string]any{"repo": "repo", "branch": "feature/a", "id": killed, "by": by})
			if err == nil {
				err = os.WriteFile(files[0], data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := reg.Reserve("repo", "feature/a", next); err != nil || ok {
				t.Errorf("reserved: %v, %v", ok, err)
			}
		})
	}
}

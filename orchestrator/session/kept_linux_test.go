package session_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// One file that cannot be opened is named, and the rest is kept. A lease keeps even root
// from opening a file.
func TestKeptGoesOnPastAFileThatCannotBeRead(t *testing.T) {
	s := create(t, spec(t, t.TempDir()))
	for _, rel := range []string{"04_planning/plan.yaml", "04_planning/summary.md"} {
		if err := s.Replace(rel, []byte("text")); err != nil {
			t.Fatal(err)
		}
	}
	lease(t, s.Path("04_planning/plan.yaml"))
	files, left, err := s.Kept(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if files["state.json"] == nil || files["04_planning/summary.md"] == nil || files["04_planning/plan.yaml"] != nil {
		t.Errorf("kept: %v", files)
	}
	if problem := left["04_planning/plan.yaml"]; len(left) != 1 || !strings.HasPrefix(problem, "cannot be read: ") || strings.Contains(problem, s.Dir) {
		t.Errorf("left: %v", left)
	}
	lease(t, s.Path(session.StateFile))
	if files, _, err := s.Kept(1 << 20); err == nil {
		t.Errorf("%d files without the state", len(files))
	}
}

// lease makes each attempt to open a file without waiting fail until the test is over.
func lease(t *testing.T, path string) {
	t.Helper()
	const setLease, writeLease = 1024, 1 // F_SETLEASE, F_WRLCK
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, writeLease); errno != 0 {
		t.Skipf("no lease on this file system: %v", errno)
	}
}

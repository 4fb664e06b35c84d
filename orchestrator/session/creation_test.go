package session_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// A launcher that is killed leaves a directory nobody lists, or the whole session. The
// launcher of this test kills itself as soon as so many files of the session are there.
func TestProtocolD1ALauncherKilledAtEachStep(t *testing.T) {
	if project := os.Getenv("SESSION_TEST_CREATE"); project != "" {
		files, err := strconv.Atoi(os.Getenv("SESSION_TEST_FILES"))
		if err != nil {
			t.Fatal(err)
		}
		dieWhileCreating(t, project, files)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Where files are in memory a launcher is often done before it sees how many there are.
	halves, rounds := 0, 0
	for ; rounds == 0 || halves < 5 && rounds < 20; rounds++ {
		halves += killedAtEachFile(t, self)
	}
	if halves < 5 {
		t.Errorf("only %d launchers were killed before their end, in %d rounds", halves, rounds)
	}
}

// killedAtEachFile has a launcher killed at each number of files, and returns how many left
// half a session.
func killedAtEachFile(t *testing.T, self string) (halves int) {
	t.Helper()
	for files := range wholeSession(t) + 2 { // one more than there are: the launcher comes to its end
		project := t.TempDir()
		cmd := exec.Command(self, "-test.run=^TestProtocolD1ALauncherKilledAtEachStep$")
		cmd.Env = append(os.Environ(), "SESSION_TEST_CREATE="+project, fmt.Sprintf("SESSION_TEST_FILES=%d", files))
		out, err := cmd.CombinedOutput()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if err != nil && status.Signal() != syscall.SIGKILL {
			t.Fatalf("the launcher: %v\n%s", err, out)
		}
		entries, err := session.List(project)
		if err != nil || len(entries) > 1 {
			t.Fatalf("killed at %d files: %+v, %v", files, entries, err)
		}
		for _, e := range entries {
			soundAndFree(t, e)
		}
		half, _ := filepath.Glob(filepath.Join(session.Dir(project), "*.tmp-*"))
		halves += len(half)
		if len(half)+len(entries) > 1 {
			t.Errorf("killed at %d files: half %v beside %+v", files, half, entries)
		}
		again := create(t, spec(t, project))
		if want := len(entries) == 1; strings.HasSuffix(again.Name(), "-2") != want {
			t.Errorf("killed at %d files: the next session is %s", files, again.Name())
		}
	}
	return halves
}

// wholeSession counts the files and directories of a new session.
func wholeSession(t *testing.T) int {
	t.Helper()
	found, err := os.ReadDir(fresh(t).Dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func soundAndFree(t *testing.T, e session.Entry) {
	t.Helper()
	if err := session.CheckDir(e.Dir).Err(); err != nil || e.State == nil || e.State.Seq != 2 {
		t.Errorf("%s is listed and not whole: %+v, %v", e.Name, e, err)
	}
	s, err := session.Open(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Lock(0); err != nil {
		t.Errorf("lock: %v", err)
	}
	s.Close()
}

// dieWhileCreating makes a session and ends itself when it has so many files.
func dieWhileCreating(t *testing.T, project string, files int) {
	ready := make(chan struct{})
	go func() {
		close(ready)
		for {
			half, _ := filepath.Glob(filepath.Join(session.Dir(project), "*.tmp-*"))
			for _, dir := range half {
				if found, err := filepath.Glob(filepath.Join(dir, "[a-z]*")); err == nil && len(found) >= files {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
			}
		}
	}()
	<-ready
	if s, err := session.Create(spec(t, project)); err != nil || s == nil {
		t.Fatal(err)
	}
}

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

	"github.com/agentmux/agentmux/internal/durable/powertest"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A launcher that is killed leaves a directory nobody lists, or the whole session. The
// launcher of this test kills itself before one of its calls that change the disk.
func TestProtocolD1ALauncherKilledAtEachStep(t *testing.T) {
	if project := os.Getenv("SESSION_TEST_CREATE"); project != "" {
		n, err := strconv.Atoi(os.Getenv("SESSION_TEST_CALL"))
		if err != nil {
			t.Fatal(err)
		}
		dieWhileCreating(t, project, n)
		return
	}
	every, halves, wholes := 1, 0, 0
	if testing.Short() {
		every = 8
	}
	for call, ended := 0, false; !ended; call += every {
		var half, whole int
		half, whole, ended = killedAt(t, call)
		halves, wholes = halves+half, wholes+whole
	}
	if halves < 5 || wholes == 0 {
		t.Errorf("%d launchers left half a session, %d a whole one", halves, wholes)
	}
}

// killedAt has a launcher killed before a call, and tells how many half and whole sessions it left, and whether
// it came to its end before.
func killedAt(t *testing.T, call int) (halves, wholes int, ended bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	project := t.TempDir()
	cmd := exec.Command(self, "-test.run=^TestProtocolD1ALauncherKilledAtEachStep$")
	cmd.Env = append(os.Environ(), "SESSION_TEST_CREATE="+project, fmt.Sprintf("SESSION_TEST_CALL=%d", call))
	out, err := cmd.CombinedOutput()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && status.Signal() != syscall.SIGKILL {
		t.Fatalf("the launcher: %v\n%s", err, out)
	}
	entries, listing := session.List(project)
	if listing != nil || len(entries) > 1 {
		t.Fatalf("killed at call %d: %+v, %v", call, entries, listing)
	}
	for _, e := range entries {
		soundAndFree(t, e)
	}
	half, _ := filepath.Glob(filepath.Join(session.Dir(project), "*.tmp-*"))
	if len(half)+len(entries) > 1 {
		t.Errorf("killed at call %d: half %v beside %+v", call, half, entries)
	}
	again := create(t, spec(t, project))
	if want := len(entries) == 1; strings.HasSuffix(again.Name(), "-2") != want {
		t.Errorf("killed at call %d: the next session is %s", call, again.Name())
	}
	return len(half), len(entries), err == nil
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

// dieWhileCreating makes a session and ends itself before the n-th call, counted from 0.
func dieWhileCreating(t *testing.T, project string, n int) {
	disk := powertest.New(project)
	disk.Fault = func(string, string) error {
		if n--; n < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	sp := spec(t, project)
	sp.Disk = disk.Disk()
	if s, err := session.Create(sp); err != nil || s == nil {
		t.Fatal(err)
	}
}

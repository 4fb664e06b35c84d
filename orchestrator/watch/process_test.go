package watch_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/watch"
)

// child is a process that runs until its input ends. The test waits for it only at its end.
func child(t *testing.T) (pid int, end func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestHelperReadsToTheEnd$")
	cmd.Env = append(os.Environ(), "WATCH_HELPER=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return cmd.Process.Pid, func() { _ = cmd.Process.Kill() }
}

// TestHelperReadsToTheEnd is the program of a child.
func TestHelperReadsToTheEnd(t *testing.T) {
	if os.Getenv("WATCH_HELPER") == "" {
		t.Skip("a test starts it")
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func linux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the end of any process")
	}
}

func TestTheEndOfAProcessWakes(t *testing.T) {
	linux(t)
	w := start(t, t.TempDir(), watched{})
	pid, end := child(t)
	for range 2 {
		if !w.Process(pid) {
			t.Fatal("the process cannot be followed")
		}
	}
	silent(t, w)
	end()
	woken(t, w)
	silent(t, w)
}

func TestAProcessThatHasEndedWakes(t *testing.T) {
	linux(t)
	w := start(t, t.TempDir(), watched{})
	pid, end := child(t)
	end()
	if !w.Process(pid) { // dead or dying, as the test has not waited for it yet
		t.Fatal("the process cannot be followed")
	}
	woken(t, w)
}

func TestWhoIsNotThereIsNotFollowed(t *testing.T) {
	w := start(t, t.TempDir(), watched{})
	for name, pid := range map[string]int{"never given": 1 << 30, "no process": -1} {
		t.Run(name, func(t *testing.T) {
			if w.Process(pid) {
				t.Error("it is followed")
			}
		})
	}
}

func TestCloseLeavesNoProcessBehind(t *testing.T) {
	linux(t)
	w, err := watch.New(watch.Options{}).Watch(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := child(t)
	if !w.Process(pid) {
		t.Fatal("the process cannot be followed")
	}
	if err := w.Close(); err != nil { // it waits for the goroutine
		t.Fatal(err)
	}
	if w.Process(pid) {
		t.Error("a closed watcher follows a process")
	}
}

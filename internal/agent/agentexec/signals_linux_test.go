package agentexec_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A program that is not in front yet is stopped by its terminal, whatever the one that started
// agent-exec ignores: tmux ignores both signals, and a program that does, too, gets an error.
func TestExecIgnoresNoSignalOfTheTerminal(t *testing.T) {
	s := newSpec(t, "script")
	s.Provider.Command = "/bin/sh"
	s.Provider.Interactive = []string{"-c", "grep ^SigIgn /proc/self/status >ignored"}
	s.Provider.Headless = s.Provider.Interactive
	prepare(t, s)
	c := agentExec(t, s)
	c.Path, c.Args = "/bin/sh", []string{"sh", "-c", `trap "" TTIN TTOU; exec "$0" agent-exec "$1"`, self(t), s.Dir}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	line := readFile(t, filepath.Join(s.Workdir, "ignored"))
	_, mask, _ := strings.Cut(strings.TrimSpace(line), "\t")
	ignored, err := strconv.ParseUint(mask, 16, 64)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for _, s := range []syscall.Signal{syscall.SIGTTIN, syscall.SIGTTOU} {
		if ignored&(1<<(uint(s)-1)) != 0 {
			t.Errorf("the program ignores %v", s)
		}
	}
}

// Elsewhere an orphan is found by the variables of its launch alone.
func TestAnOrphanWithoutAnEnvironmentEndsWithTheLaunch(t *testing.T) {
	s := newSpec(t, "script")
	s.Provider.Command = "/bin/sh"
	s.Provider.Interactive = []string{"-c", "(env -i setsid sh -c 'echo $$ >stray; exec sleep 600' </dev/null >/dev/null 2>&1 &); until [ -s stray ]; do :; done"}
	s.Provider.Headless = s.Provider.Interactive
	prepare(t, s)
	if err := agentExec(t, s).Run(); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, filepath.Join(s.Workdir, "stray"))))
	if err != nil {
		t.Fatal(err)
	}
	if !ended(pid) {
		t.Errorf("process %d still runs", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if e := exitOf(t, s); e.Strays != 1 {
		t.Errorf("record %+v", e)
	}
}

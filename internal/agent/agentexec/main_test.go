package agentexec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/agentexec"
	"github.com/agentmux/agentmux/internal/testexit"
)

// TestMain lets this test binary act as agentmux ("agent-exec DIR") and as the program of an
// agent ("program WHAT").
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "agent-exec":
			testexit.Exit(agentexec.Run(context.Background(), os.Args[2]))
		case "program":
			testexit.Exit(runProgram(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

// runProgram behaves like one kind of program.
func runProgram(what string) int {
	switch what {
	case "exit7":
		return 7
	case "environ":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		return 0
	case "descriptors":
		return countDescriptors()
	case "segv":
		signal.Reset(syscall.SIGTERM)
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		mark("ready", os.Getpid())
	case "stray":
		return leaveStray()
	case "sleep":
		mark("ready", os.Getpid())
	case "brood":
		if err := startBrood(); err != nil {
			fmt.Println(err)
			return 1
		}
	case "echo":
		return echo()
	}
	<-time.NewTimer(10 * time.Minute).C
	return 0
}

// leaveStray starts a process that leaves its session, as tools of a program do, and ends.
func leaveStray() int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	child := exec.Command(self, "program", "sleep")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return 1
	}
	for !exists("ready") {
		<-time.NewTimer(5 * time.Millisecond).C
	}
	return 3
}

func countDescriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 99
	}
	open := 0
	for _, e := range entries {
		// Descriptors the runtime opens for itself are not inherited.
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(target, "/sys/") && !strings.Contains(target, "anon_inode") && !strings.HasSuffix(target, "/fd") {
			open++
		}
	}
	return open
}

// echo reads the terminal in raw mode, as a TUI does, and shows what it reads.
func echo() int {
	fmt.Println("ECHO READY")
	buf := make([]byte, 100)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			fmt.Println("ECHO", err)
			return 1
		}
		fmt.Printf("GOT %s\n", strings.TrimSpace(string(buf[:n])))
	}
}

// mark writes a file into the work directory.
func mark(name string, pid int) {
	if err := os.WriteFile(name+".tmp", fmt.Appendln(nil, pid), 0o600); err == nil {
		_ = os.Rename(name+".tmp", name)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
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

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func providers(t *testing.T) agent.Providers {
	t.Helper()
	ps, problems := agent.Load(nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return ps
}

// newSpec returns a launch of the built-in provider in directories of the test.
func newSpec(t *testing.T, provider string) agent.LaunchSpec {
	t.Helper()
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	p := providers(t)[provider]
	if provider != "script" {
		writeFile(t, filepath.Join(bin, p.Command), "#!/bin/sh\n", 0o700)
	}
	work := filepath.Join(root, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	session := filepath.Join(root, "session")
	return agent.LaunchSpec{
		Dir: filepath.Join(session, "launches", "v1-coder-1"), Session: session, Launch: "v1-coder-1", Role: "coder", Task: "2", Self: self(t),
		Provider: p, Transport: agent.TUI, Line: "Read and follow the instructions in /s/p.md", Workdir: work,
		Runtime: runtimeDir(t), Now: time.Unix(1_800_000_000, 0).UTC(),
		Env: agent.EnvSpec{Path: bin + ":/usr/bin:/bin", Home: filepath.Join(root, "home"), Lookup: lookup(nil)},
	}
}

// runtimeDir returns a directory with a path short enough for sockets.
func runtimeDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func lookup(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func writeFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

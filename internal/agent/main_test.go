package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
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

// prepare prepares the launch and returns its record with the variables.
func prepare(t *testing.T, s agent.LaunchSpec) agent.Launch {
	t.Helper()
	l, err := agent.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

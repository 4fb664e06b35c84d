package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
)

// A yes to one command of a repository allows no other, whatever words the other one consists of.
func TestSecurity27AYesAllowsOneCommand(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	load := func(text string) *config.Config {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, ".agentmux"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".agentmux", "config.yaml"), []byte("version: 2\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, problems := config.Load(config.Sources{Home: "/", Project: os.DirFS(dir)})
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	asked, open := project.OpenSetup(home, dir, load("sandbox: {setup: [test, make, all]}\n"))
	if !open {
		t.Fatal("nothing to allow")
	}
	if err := asked.Allow(); err != nil {
		t.Fatal(err)
	}
	if _, open := project.OpenSetup(home, dir, load("sandbox: {setup: [test, make, all]}\n")); open {
		t.Error("asked again")
	}
	if _, open := project.OpenTest(home, dir, load("agents: {test_command: [make, all]}\n")); !open {
		t.Error("a yes to sandbox.setup allows an agents.test_command")
	}
	asked, _ = project.OpenTest(home, dir, load("agents: {test_command: [make, all]}\n"))
	if err := asked.Allow(); err != nil {
		t.Fatal(err)
	}
	if _, open := project.OpenSetup(home, dir, load("sandbox: {setup: [make, all]}\n")); !open {
		t.Error("a yes to agents.test_command allows a sandbox.setup")
	}
	if _, open := project.OpenTest(home, dir, load("agents: {test_command: [make, all]}\n")); open {
		t.Error("asked again about the test")
	}
	for _, other := range []string{"[make, all, 'x']", "[make]", "['make all']", "[make, 'all ']"} {
		if _, open := project.OpenTest(home, dir, load("agents: {test_command: "+other+"}\n")); !open {
			t.Errorf("a yes to [make, all] allows %s", other)
		}
		if _, open := project.OpenSetup(home, dir, load("sandbox: {setup: "+strings.Replace(other, "make", "test, make", 1)+"}\n")); !open {
			t.Errorf("a yes to [test, make, all] allows a setup with %s", other)
		}
	}
}

package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A managed project is found by every name that its repository had, and by the origin of a clone
// of it; nothing else below a state home is taken for one.
func TestManagedProjectsAreFoundByTheirNames(t *testing.T) {
	home := t.TempDir()
	at := func(parts ...string) string {
		dir := filepath.Join(append([]string{home}, parts...)...)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	moved := at("git.example_8443", "acme", "widgets")
	for _, name := range []string{"Widgets", "Gadgets", "Widgets"} {
		if _, err := project.NoteName(moved, 7, ghsync.Repo{Owner: "Acme", Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := project.NoteName(moved, 8, ghsync.Repo{Owner: "acme", Name: "widgets"}); err == nil || !strings.Contains(err.Error(), "move the directory away") {
		t.Errorf("of another repository: %v", err)
	}
	bare := at("github.com", "octo", "gears")
	at("github.com", "octo", "gears", ".agentmux", ".sessions")
	at("github.com", "octo", "gears.git", "objects")
	at("made", "branches", "x")
	damaged := at("github.com", "octo", "torn")
	if err := os.WriteFile(filepath.Join(damaged, "repo.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := project.ListManaged(home)
	if len(all) != 3 || all[0].Dir != moved || all[1].Dir != bare || all[2].Dir != damaged {
		t.Fatalf("%+v", all)
	}
	if m := all[0]; m.Name() != "Acme/Widgets" || !m.Called("acme/widgets") || !m.Called("acme/gadgets") || m.Called("acme/gears") {
		t.Errorf("%+v", m)
	}
	if all[1].Name() != "octo/gears" || all[2].Name() != "octo/torn" {
		t.Errorf("%+v", all[1:])
	}
	for origin, want := range map[string]int{
		"https://git.example:8443/acme/widgets.git": 0, "https://git.example:8443/Acme/Gadgets": 0, "ssh://git@git.example:22/acme/gadgets.git": 0,
		"git@git.example:acme/widgets.git": 0, "https://git.example/acme/widgets.git": -1, "https://github.com/acme/widgets.git": -1,
		"https://github.com/octo/gears": 1, "git@github.com:octo/gears.git": 1, "/srv/octo/gears": -1, "": -1,
	} {
		for i, m := range all {
			if m.IsOrigin(origin) != (i == want) {
				t.Errorf("%s is taken for %s: %v", origin, m.Name(), i != want)
			}
		}
	}
	if _, ok := project.ManagedAt(home, filepath.Dir(session.Dir(bare))); ok {
		t.Error("a directory in a managed project is one")
	}
}

package roster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/workflows/agents"
)

func TestRoutesAreReadFromTheProject(t *testing.T) {
	team := &agents.Team{Session: "tdd", Agents: []agents.Agent{{Name: "red"}, {Name: "green"}}}
	for name, c := range map[string]struct {
		text string
		part bool
		want string // problem
	}{
		"none":               {},
		"a table":            {text: `{"mesh":"tdd","routing":{"red":{"complete":{"green":"test written"}}}}`},
		"not JSON":           {text: "{", want: "meshes/mesh-configs/tdd.json:1: not valid JSON"},
		"an unknown agent":   {text: `{"mesh":"tdd","routing":{"blue":{}}}`, want: `no agent is called "blue"`},
		"another mesh":       {text: `{"mesh":"other","routing":{}}`, want: `mesh: expected "tdd", found "other"`},
		"of a part of a run": {text: `{"mesh":"tdd","routing":{"blue":{}}}`, part: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "meshes", "mesh-configs", "tdd.json")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if c.text != "" {
				if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			rows, problems := roster.Routes(dir, team, c.part)
			if got := strings.Join(problems, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("problems %q", got)
			}
			if (rows != nil) != (c.text != "" && c.want == "") {
				t.Errorf("rows %v", rows)
			}
		})
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "meshes", "mesh-configs", "tdd.json")
	if err := os.MkdirAll(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, problems := roster.Routes(dir, team, false); len(problems) != 1 || !strings.Contains(problems[0], "is a directory") {
		t.Errorf("problems %q", problems)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", file); err != nil {
		t.Fatal(err)
	}
	if _, problems := roster.Routes(dir, team, false); len(problems) != 1 || !strings.Contains(problems[0], "is a symbolic link") {
		t.Errorf("problems %q", problems)
	}
	other := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "meshes"), filepath.Join(other, "meshes")); err != nil {
		t.Fatal(err)
	}
	if _, problems := roster.Routes(other, team, false); len(problems) != 1 || !strings.Contains(problems[0], "symbolic link") {
		t.Errorf("through a link of a directory: problems %q", problems)
	}
}

package roster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/internal/document"
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
			rows, problems := roster.Routes(dir, nil, team, c.part)
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
	if _, problems := roster.Routes(dir, nil, team, false); len(problems) != 1 || !strings.Contains(problems[0], "is a directory") {
		t.Errorf("problems %q", problems)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", file); err != nil {
		t.Fatal(err)
	}
	if _, problems := roster.Routes(dir, nil, team, false); len(problems) != 1 || !strings.Contains(problems[0], "is a symbolic link") {
		t.Errorf("problems %q", problems)
	}
	other := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "meshes"), filepath.Join(other, "meshes")); err != nil {
		t.Fatal(err)
	}
	if _, problems := roster.Routes(other, nil, team, false); len(problems) != 1 || !strings.Contains(problems[0], "symbolic link") {
		t.Errorf("through a link of a directory: problems %q", problems)
	}
}

// The key mesh of the configuration may hold the table in place of the file.
func TestRoutesAreReadFromTheConfiguration(t *testing.T) {
	team := &agents.Team{Session: "tdd", Agents: []agents.Agent{{Name: "red"}, {Name: "green"}}}
	for name, c := range map[string]struct {
		text, file string
		part       bool
		rows       bool
		want       string // problem
	}{
		"none":               {text: "mesh: {}"},
		"empty":              {text: "mesh:"},
		"a table":            {text: "mesh: {mesh: tdd, routing: {red: {complete: {green: test written}}}}", rows: true},
		"of another mesh":    {text: "mesh: {mesh: other, routing: {blue: {complete: {green: x}}}}"},
		"an unknown agent":   {text: "mesh:\n  mesh: tdd\n  routing:\n    blue: {}", want: `config.yaml:4: mesh.routing.blue: no agent is called "blue"`},
		"of a part of a run": {text: "mesh: {mesh: tdd, routing: {blue: {}}}", part: true, rows: true},
		"beside the file": {
			text: "mesh: {mesh: tdd, routing: {}}", file: `{"mesh":"tdd","routing":{}}`,
			want: "config.yaml:1: mesh.mesh: meshes/mesh-configs/tdd.json is a table of tdd, too",
		},
		"of another mesh beside the file": {text: "mesh: {mesh: other, routing: {}}", file: `{"mesh":"tdd","routing":{"red":{}}}`, rows: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				file := filepath.Join(dir, "meshes", "mesh-configs", "tdd.json")
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(c.file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			root, _ := document.Parse("config.yaml", []byte(c.text))
			rows, problems := roster.Routes(dir, root.Field("mesh"), team, c.part)
			if got := strings.Join(problems, "\n"); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("problems %q", got)
			}
			if (rows != nil) != c.rows {
				t.Errorf("rows %v", rows)
			}
		})
	}
}

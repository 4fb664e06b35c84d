package docs_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// workflowFile is what the checks read of a workflow, or of an action.
type workflowFile struct {
	On          yaml.Node
	Permissions yaml.Node
	Env         map[string]string
	Jobs        map[string]workflowJob
	Runs        struct {
		Using string
		Steps []workflowStep
	}
}

type workflowJob struct {
	Permissions yaml.Node
	Env         map[string]string
	Uses        string
	Steps       []workflowStep
}

type workflowStep struct {
	Uses, Run, Shell string
	With             map[string]string
}

var (
	pinned = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}$`)
	secret = regexp.MustCompile(`\$\{\{.*\b(secrets\b|github\.token\b)`)
)

// weaknesses lists what lets a stranger's text or a changed dependency act with the rights of a job: an expression in a script, what is
// not pinned, rights that no job names, a token that stays on the disk, a secret for every step, a trigger that runs a stranger's
// commit with rights, a cache of other runs in a release.
func weaknesses(text []byte) (found []string) {
	var w workflowFile
	if err := yaml.Unmarshal(text, &w); err != nil {
		return []string{err.Error()}
	}
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	releases := false
	for _, n := range nodes(&w.On) {
		if n.Value == "pull_request_target" || n.Value == "workflow_run" {
			say("trigger %s", n.Value)
		}
		releases = releases || n.Value == "tags" || n.Value == "release"
	}
	steps := func(at string, all []workflowStep) {
		for i, s := range all {
			name, _, _ := strings.Cut(s.Uses, "@")
			switch {
			case s.Uses != "" && !pinned.MatchString(s.Uses):
				say("%s, step %d: %s is not pinned", at, i, s.Uses)
			case strings.Contains(s.Run, "${{"):
				say("%s, step %d: an expression in a script", at, i)
			case name == "actions/checkout" && s.With["persist-credentials"] != "false":
				say("%s, step %d: the token stays in the clone", at, i)
			case releases && strings.HasPrefix(name, "actions/setup-") && s.With["cache"] != "false", releases && name == "actions/cache":
				say("%s, step %d: a cache of other runs", at, i)
			}
		}
	}
	if w.Runs.Using != "" {
		steps("the action", w.Runs.Steps)
		return found
	}
	if w.Permissions.Kind != yaml.MappingNode || len(w.Permissions.Content) > 0 {
		say("permissions for all jobs")
	}
	secrets := func(at string, env map[string]string) {
		for name, value := range env {
			if secret.MatchString(value) {
				say("%s: %s for every step", at, name)
			}
		}
	}
	secrets("the workflow", w.Env)
	for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
		j := w.Jobs[name]
		if j.Permissions.Kind != yaml.MappingNode || len(j.Permissions.Content) == 0 {
			say("%s names no permissions", name)
		}
		if j.Uses != "" && !pinned.MatchString(j.Uses) {
			say("%s: %s is not pinned", name, j.Uses)
		}
		secrets(name, j.Env)
		steps(name, j.Steps)
	}
	return found
}

// nodes are a node and all below it.
func nodes(n *yaml.Node) []*yaml.Node {
	all := []*yaml.Node{n}
	for _, c := range n.Content {
		all = append(all, nodes(c)...)
	}
	return all
}

// The workflows of this repository, the action, and the workflow that its users have.
func TestWorkflowsGiveNothingAway(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range append(files, "../action.yml", "../cmd/internal/setup/actions.yml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		made := strings.NewReplacer("@COMMIT@", strings.Repeat("a1", 20), "@LABEL@", "agentmux").Replace(string(text))
		for _, what := range weaknesses([]byte(made)) {
			t.Errorf("%s: %s", file, what)
		}
	}
}

// TestWorkflowWeaknessesAreSeen holds the checks themselves: each change makes a sound workflow a weak one.
func TestWorkflowWeaknessesAreSeen(t *testing.T) {
	sound := `
on: {push: {tags: [v1]}}
permissions: {}
jobs:
  j:
    permissions: {contents: read}
    env: {A: b}
    steps:
      - uses: actions/checkout@` + strings.Repeat("0f", 20) + `
        with: {persist-credentials: false}
      - uses: actions/setup-go@` + strings.Repeat("0f", 20) + `
        with: {cache: false}
      - run: echo "$TITLE"
        env: {TITLE: "${{ github.event.issue.title }}"}
`
	if got := weaknesses([]byte(sound)); len(got) > 0 {
		t.Fatalf("the sound one: %q", got)
	}
	for from, c := range map[string]struct{ to, want string }{
		"push: {tags: [v1]}":         {"pull_request_target: {}", "trigger pull_request_target"},
		"permissions: {}":            {"permissions: write-all", "permissions for all jobs"},
		"permissions: {contents":     {"rights: {contents", "j names no permissions"},
		"{A: b}":                     {`{A: "${{ secrets.KEY }}"}`, "j: A for every step"},
		"persist-credentials: false": {"fetch-depth: 0", "j, step 0: the token stays in the clone"},
		"checkout@0f0f0f0f":          {"checkout@v4 # ", "j, step 0: actions/checkout@v4 is not pinned"},
		"cache: false":               {"go-version: 1.26.x", "j, step 1: a cache of other runs"},
		`echo "$TITLE"`:              {`echo ${{ github.event.issue.title }}`, "j, step 2: an expression in a script"},
	} {
		if got := weaknesses([]byte(strings.Replace(sound, from, c.to, 1))); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q, want %q", c.to, got, c.want)
		}
	}
}

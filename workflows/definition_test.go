package workflows_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/prompt"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with the file, or writes it under -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

func load(t *testing.T, name string) *workflows.Definition {
	t.Helper()
	d, data, problems := workflows.Load(name, nil)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", name, problems.Lines())
	}
	if len(data) == 0 {
		t.Fatalf("%s: no bytes to freeze", name)
	}
	return d
}

func testShipped(t *testing.T) {
	for _, name := range workflows.Shipped() {
		d := load(t, name)
		if d.Name != name {
			t.Errorf("%s is named %s", name, d.Name)
		}
		for _, p := range d.Phases {
			for _, name := range []string{p.Prompt, p.ChangePrompt, p.ResolvePrompt, p.SummaryPrompt} {
				if name != "" && !slices.Contains(prompt.Templates(), name) {
					t.Errorf("%s: %s names the prompt %s", d.Name, p.ID, name)
				}
			}
		}
	}
}

// testRules reads each bad file of testdata/definitions and compares every problem
// with the file beside it.
func testRules(t *testing.T) {
	files, err := filepath.Glob("testdata/definitions/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	prompts := fstest.MapFS{"project/present.md": {Data: []byte("x")}}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, problems := workflows.Parse(name, data, workflows.Known{Prompts: prompts})
			if d != nil || problems.Err() == nil {
				t.Error("a bad definition is taken")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".errors", []byte(strings.Join(problems.Lines(), "\n")+"\n"))
		})
	}
}

func testTooLarge(t *testing.T) {
	data := append([]byte("version: 1\n#"), bytes.Repeat([]byte("x"), 256<<10)...)
	_, problems := workflows.Parse("big.yaml", data, workflows.Known{})
	same(t, "problems", problems.Lines(), []string{"big.yaml: larger than 256 KiB"})
}

const ownWorkflow = `version: 1
name: own
start: spec
phases:
  - id: spec
    kind: author
    when: ["!issue"]
    dir: 02_spec
    role: architect
    prompt: project/spec
    event: architecture_written
    artifact: 02_spec/spec.md
    tool: submit_architecture
    timeout: 20m
    next: {submitted: planning}
  - {id: planning, kind: plan, dir: 04_planning, next: {accepted: [{when: [needs_design, issue], to: design}, {to: implementing}]}}
  - {id: design, kind: author, when: [needs_design], dir: 05_design, role: designer, event: design_written, tool: submit_design,
     artifact: 05_design/a.md, next: {submitted: implementing}}
  - {id: implementing, kind: implement, dir: 06_implementation, next: {completed: reviewing}}
  - {id: reviewing, kind: review, dir: 07_review, roles: [reviewer], max_iterations: 1, next: {passed: completing, failed: fixing, exhausted: completing}}
  - {id: fixing, kind: fix, dir: 06_implementation, next: {completed: reviewing}}
  - {id: completing, kind: complete, dir: 08_completion, next: {approved: done, changes_requested: planning}}
`

func project() fstest.MapFS {
	return fstest.MapFS{
		".agentmux/workflows/own.yaml":      {Data: []byte(ownWorkflow)},
		".agentmux/workflows/broken.yaml":   {Data: []byte("version: 1\n")},
		".agentmux/workflows/feature.yaml":  {Data: []byte("version: 1\n")},
		".agentmux/prompts/project/spec.md": {Data: []byte("Write the spec. [[placeholder:tool_line]]\n")},
	}
}

func TestPathsOfAnotherWorkflow(t *testing.T) {
	d, _, problems := workflows.Load("own", project())
	if len(problems) > 0 {
		t.Fatal(problems.Lines())
	}
	if paths := d.Paths(); paths["02_architecting/architecture.md"] != "02_spec/spec.md" {
		t.Errorf("own renames %v", paths)
	}
	if paths := load(t, "feature").Paths(); len(paths) > 0 {
		t.Errorf("feature renames %v", paths)
	}
}

// Each role has its prompt, and each prompt of an agent its role.
func TestEveryRoleHasAPrompt(t *testing.T) {
	var roles []string
	for _, name := range prompt.Templates() {
		if role, ok := strings.CutPrefix(name, "agents/"); ok {
			roles = append(roles, role)
		}
	}
	want := workflows.Roles()
	slices.Sort(want)
	same(t, "roles", slices.Sorted(slices.Values(roles)), want)
}

func TestLoadFindsTheProjectsWorkflows(t *testing.T) {
	d, data, problems := workflows.Load("own", project())
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems.Lines())
	}
	if string(data) != ownWorkflow {
		t.Error("the bytes to freeze are not those of the file")
	}
	spec, _ := d.Phase("spec")
	if spec.Timeout == nil || *spec.Timeout != 20*time.Minute || spec.Prompt != "project/spec" {
		t.Errorf("spec = %+v", spec)
	}
	same(t, "names", workflows.Names(project()), []string{"feature", "quick", "broken", "own"})
	if d, _, _ := workflows.Load("feature", project()); d == nil || len(d.Phases) != 8 {
		t.Error("a file of the project hides the built-in feature")
	}
	for name, want := range map[string]string{
		"ownn":      `unknown workflow "ownn", known: feature, quick, broken, own`,
		"../../own": `unknown workflow "../../own", known: feature, quick, broken, own`,
		"broken":    ".agentmux/workflows/broken.yaml:1: name: required key missing",
	} {
		t.Run(name, func(t *testing.T) {
			d, _, problems := workflows.Load(name, project())
			if d != nil || len(problems) == 0 || problems[0].String() != want {
				t.Errorf("%s: %v", name, problems.Lines())
			}
		})
	}
	if names := workflows.Names(nil); !slices.Equal(names, workflows.Shipped()) {
		t.Errorf("without a project: %v", names)
	}
}

func TestALinkToNothingIsNotAnUnknownWorkflow(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, workflows.ProjectWorkflows), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, workflows.ProjectWorkflows, "lost.yaml")); err != nil {
		t.Fatal(err)
	}
	same(t, "problems", workflows.Check("lost", os.DirFS(dir)).Lines(), []string{".agentmux/workflows/lost.yaml: is a link to nothing"})
}

func TestAFileThatABuiltInWorkflowHidesIsReported(t *testing.T) {
	file := func(text string) fstest.MapFS {
		return fstest.MapFS{".agentmux/workflows/quick.yaml": {Data: []byte(text)}}
	}
	_, quick, _ := workflows.Load("quick", nil)
	const hidden = `"quick" is built in, choose another name for the file and in it`
	for _, c := range []struct {
		name    string
		project fstest.MapFS
		want    []string
	}{
		{"no file", fstest.MapFS{}, nil},
		{"valid", file(string(quick)), []string{".agentmux/workflows/quick.yaml:2: name: " + hidden}},
		{"wrong version", file(strings.Replace(string(quick), "version: 1", "version: 2", 1)), []string{
			".agentmux/workflows/quick.yaml:1: version: expected 1, found 2", ".agentmux/workflows/quick.yaml:2: name: " + hidden}},
		{"another name", file(strings.Replace(string(quick), "name: quick", "name: other", 1)), []string{
			".agentmux/workflows/quick.yaml:2: name: " + hidden}},
		{"not a map", file("- no map\n"), []string{".agentmux/workflows/quick.yaml:1: expected a map, found a list", ".agentmux/workflows/quick.yaml: name: " + hidden}},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, "problems", workflows.Check("quick", c.project).Lines(), c.want)
			if d, _, problems := workflows.Load("quick", c.project); d == nil || problems.Err() != nil {
				t.Errorf("the file hides the built-in workflow: %v", problems.Lines())
			}
		})
	}
	same(t, "problems of a project's own", workflows.Check("broken", project()).Lines(),
		[]string{".agentmux/workflows/broken.yaml:1: name: required key missing",
			".agentmux/workflows/broken.yaml:1: start: required key missing", ".agentmux/workflows/broken.yaml:1: phases: required key missing"})
}

func TestFrozenDefinitionIsReadUnderAnyName(t *testing.T) {
	for _, name := range []string{"own", "feature"} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(ownWorkflow, "name: own", "name: "+name, 1)
			d, problems := workflows.Parse("definition.yaml", []byte(text), workflows.Known{Frozen: true})
			if d == nil {
				t.Errorf("problems: %v", problems.Lines())
			}
		})
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	d := load(t, "feature")
	for kind, want := range map[string][]string{
		workflows.KindPlan:      {"planner", "agents/planner", "commands/change", "", ""},
		workflows.KindImplement: {"coder", "agents/coder", "", "commands/resolve", ""},
		workflows.KindFix:       {"coder", "commands/fix", "", "", ""},
		workflows.KindReview:    {"", "", "", "", "commands/summary"},
		workflows.KindComplete:  {"", "", "", "", ""},
	} {
		t.Run(kind, func(t *testing.T) {
			p, ok := d.Kind(kind)
			if !ok {
				t.Fatalf("no %s phase", kind)
			}
			same(t, kind, []string{p.Role, p.Prompt, p.ChangePrompt, p.ResolvePrompt, p.SummaryPrompt}, want)
		})
	}
	review, _ := d.Kind(workflows.KindReview)
	same(t, "roles", review.Roles, []string{"reviewer_logic", "reviewer_quality", "reviewer_expert"})
	same(t, "default roles", review.DefaultRoles, []string{"reviewer_logic"})
	if review.MaxIterations != nil {
		t.Errorf("feature caps reviews at %d", *review.MaxIterations)
	}
	if quick, _ := load(t, "quick").Kind(workflows.KindReview); quick.MaxIterations == nil || *quick.MaxIterations != 0 {
		t.Error("quick does not cap reviews at 0")
	}
	for text, want := range map[string]string{"timeout: 20m": "20m0s", "timeout: 0": "0s", "timeout: null": "none", "research: true": "none"} {
		t.Run(text, func(t *testing.T) {
			d, _ := workflows.Parse("own.yaml", []byte(strings.Replace(ownWorkflow, "timeout: 20m", text, 1)), workflows.Known{Frozen: true})
			spec, _ := d.Phase("spec")
			got := "none"
			if spec.Timeout != nil {
				got = spec.Timeout.String()
			}
			same(t, "timeout", []string{got}, []string{want})
		})
	}
	own, _, _ := workflows.Load("own", project())
	review, _ = own.Kind(workflows.KindReview)
	same(t, "default roles", review.DefaultRoles, []string{"reviewer"})
}

func TestTargetsFollowTheConditions(t *testing.T) {
	d, _, _ := workflows.Load("own", project())
	planning, _ := d.Phase("planning")
	reviewing, _ := d.Phase("reviewing")
	both := workflows.Conditions{workflows.ConditionNeedsDesign: true, workflows.ConditionIssue: true}
	for _, tt := range []struct {
		name, got, want string
	}{
		{"all conditions hold", planning.Target(workflows.OutcomeAccepted, both), "design"},
		{"one condition holds", planning.Target(workflows.OutcomeAccepted, workflows.Conditions{workflows.ConditionIssue: true}), "implementing"},
		{"no condition holds", planning.Target(workflows.OutcomeAccepted, nil), "implementing"},
		{"outcome of another kind", planning.Target(workflows.OutcomePassed, nil), ""},
		{"target without conditions", reviewing.Target(workflows.OutcomeFailed, nil), "fixing"},
		{"first phase", d.Entry("spec", nil), "spec"},
		{"first phase passed over", d.Entry("spec", workflows.Conditions{workflows.ConditionIssue: true}), "planning"},
		{"later phase passed over", d.Entry("design", nil), "implementing"},
		{"later phase", d.Entry("design", both), "design"},
		{"done", d.Entry("done", nil), "done"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		})
	}
	if _, ok := d.Phase("none"); ok {
		t.Error("a phase that does not exist")
	}
}

func FuzzParseDefinition(f *testing.F) {
	f.Add([]byte(ownWorkflow))
	files, err := filepath.Glob("testdata/definitions/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, problems := workflows.Parse("own.yaml", data, workflows.Known{})
		if (d == nil) == (problems.Err() == nil) {
			t.Fatalf("definition %v, problems %v", d, problems.Lines())
		}
		if d == nil {
			return
		}
		for _, p := range d.Phases {
			for _, o := range workflows.Outcomes(p.Kind) {
				to := p.Target(o, nil)
				if _, ok := d.Phase(to); !ok && to != workflows.PhaseDone && o != workflows.OutcomeFailed {
					t.Fatalf("%s leads from %s to %q", o, p.ID, to)
				}
			}
		}
	})
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

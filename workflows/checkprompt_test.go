package workflows_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentmux/agentmux/workflows"
)

// own is quick under the name own, whose planner and resolver have templates of the project.
func own(t *testing.T) string {
	t.Helper()
	_, quick, problems := workflows.Load("quick", nil)
	if problems.Err() != nil {
		t.Fatal(problems.Err())
	}
	text := strings.Replace(string(quick), "name: quick", "name: own", 1)
	text = strings.Replace(text, "kind: plan,", "kind: plan, prompt: project/plan,", 1)
	return strings.Replace(text, "kind: implement,", "kind: implement, resolve_prompt: project/resolve,", 1)
}

// A mistake that would fail a session when its phase begins is found, with its line, when
// the workflow is checked and when a session is started.
func TestPromptsAreCheckedWithTheirWorkflow(t *testing.T) {
	for name, c := range map[string]struct{ plan, want string }{
		"placeholder": {"a\nb [[placeholder:nonsense]]\n", `.agentmux/prompts/project/plan.md:2: [[placeholder:nonsense]]: unknown placeholder "nonsense"`},
		"near":        {"[[placeholder:rol]]", `.agentmux/prompts/project/plan.md:1: [[placeholder:rol]]: unknown placeholder "rol", did you mean "role"?`},
		"include":     {"\n\n[[include:nofile.md]]", `.agentmux/prompts/project/plan.md:3: [[include:nofile.md]]: no session has this file; include-optional takes one that may be missing`},
		"directory":   {"[[include:09_x/plan.md]]", `.agentmux/prompts/project/plan.md:1: [[include:09_x/plan.md]]: no session has this file; include-optional takes one that may be missing`},
		"file":        {"[[include:04_planning/x.md]]", `.agentmux/prompts/project/plan.md:1: [[include:04_planning/x.md]]: no session has this file; include-optional takes one that may be missing`},
		"outside":     {"[[include-optional:../x]]", `.agentmux/prompts/project/plan.md:1: [[include-optional:../x]]: expected a path below the session directory, without ..`},
		"fragment":    {"[[shared:rulez]]", `.agentmux/prompts/project/plan.md:1: [[shared:rulez]]: there is no such fragment`},
		"binary":      {"a\xff", `.agentmux/prompts/project/plan.md: cannot be read: not valid UTF-8`},
		"fine":        {"[[shared:approval]] [[placeholder:role]] [[include:context.md]] [[include:04_planning/plan_1.md]] [[include-optional:x/y]] [[nonsense:x]]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			project := fstest.MapFS{
				".agentmux/workflows/own.yaml":            {Data: []byte(own(t))},
				".agentmux/prompts/project/plan.md":       {Data: []byte(c.plan)},
				".agentmux/prompts/project/resolve.md":    {Data: []byte("[[placeholder:subplan]]")},
				".agentmux/prompts/agents/code-review.md": {Data: []byte("x")},
				".agentmux/prompts/agents/coder.md":       {Data: []byte("Be [[placeholder:kind]].")}, // inserted as it is
			}
			d, _, problems := workflows.Load("own", project)
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if got := problems.Errors().Lines(); !slices.Equal(got, want) || (d == nil) != (c.want != "") {
				t.Errorf("%q, want %q", got, want)
			}
			if got := problems.Warnings().Lines(); len(got) != 1 || !strings.Contains(got[0], "agents/code-review.md: is never used: there is no prompt agents/code-review") {
				t.Errorf("warnings %q", got)
			}
		})
	}
}

// A text for a built-in prompt that cannot be inserted is found for every workflow.
func TestTextsForBuiltInPromptsAreChecked(t *testing.T) {
	project := fstest.MapFS{
		".agentmux/prompts/agents/coder.md": {Data: []byte("caf\xe9")}, ".agentmux/prompts/commands/fix.md": {Data: []byte("a\x00b")},
	}
	want := []string{
		".agentmux/prompts/agents/coder.md: cannot be read: not valid UTF-8", ".agentmux/prompts/commands/fix.md: cannot be read: holds a NUL byte",
	}
	for _, name := range workflows.Shipped() {
		if d, _, problems := workflows.Load(name, project); d != nil || !slices.Equal(problems.Lines(), want) {
			t.Errorf("%s: %q", name, problems.Lines())
		}
	}
}

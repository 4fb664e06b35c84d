package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/internal/testfull"
)

// Which workflow an issue's labels select; the person's flag wins.
func TestProtocolW3LabelsSelectTheWorkflow(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true})
	repo := r.github.Repo(rigRepo)
	set := func(labels ...string) {
		for _, name := range []string{"agentmux", "agentmux:quick", "agentmux:feature", "agentmux:nope"} {
			repo.Unlabel(1, name, rigOwner)
		}
		for _, name := range labels {
			repo.Label(1, name, rigOwner)
		}
	}
	for _, c := range []struct {
		name   string
		labels []string
		flags  []string
		code   int
		says   []string
	}{
		{"label alone", []string{"agentmux"}, nil, 0, []string{"prompt of architect"}},
		{"with a selector", []string{"agentmux", "agentmux:quick"}, nil, 0, []string{"prompt of planner"}},
		{"selector alone", []string{"agentmux:quick"}, nil, 0, []string{"prompt of planner"}},
		{"the flag wins", []string{"agentmux:quick"}, []string{"--workflow", "feature"}, 0, []string{"prompt of architect"}},
		{"two selectors", []string{"agentmux:quick", "agentmux:feature"}, nil, 2, []string{"feature, quick", "--workflow"}},
		{"unknown selector", []string{"agentmux:nope"}, nil, 2, []string{`unknown workflow "nope"`, "feature, quick"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set(c.labels...)
			res := r.agentmux(append([]string{"issue", "1", "--headless", "--dry-run"}, c.flags...)...)
			for _, text := range c.says {
				if res.code != c.code || !strings.Contains(res.out+res.err, text) {
					t.Errorf("exit %d, want %d with %q:\n%s%s", res.code, c.code, text, res.out, res.err)
				}
			}
		})
	}
	set("agentmux:quick", "agentmux:feature")
	r.expect(2, "issue", "1", "--headless")
	if n := len(r.sessions()); n != 0 {
		t.Errorf("%d sessions", n)
	}
}

// A failed review of the workflow a label selected: a draft for people, exit 3.
func TestProtocolW4AFailedQuickReviewEndsInADraft(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	failing := strings.Replace(quickPlaybook, `"verdict: pass\nsummary: Fine.\n"`,
		`"verdict: fail\nsummary: No.\nfindings: [{issue: It says two, recommendation: Say three}]\n"`, 1)
	r := newRig(t, rigOptions{playbook: failing, unlabel: true})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	res := r.expect(3, "issue", "1", "--headless")
	e := r.session()
	r.sound(e)
	pulls := repo.Pulls()
	if e.State.Workflow != "quick" || len(pulls) != 1 || !pulls[0].Draft || !strings.HasPrefix(pulls[0].Title, "[review failed] ") {
		t.Errorf("workflow %s, pull requests %+v\n%s", e.State.Workflow, pulls, res.err)
	}
	if n := len(repo.Comments(1)); n == 0 {
		t.Error("a session of a labelled issue is not shown on it")
	}
	if got := r.resultOf(e); got.Outcome != "needs_human" || got.ExitCode != 3 || got.Issue != 1 || got.Repo != rigRepo || len(pulls) > 0 && got.PRNumber != pulls[0].Number || got.Verdict != "fail" {
		t.Errorf("result %+v", got)
	}
}

// Configuration and workflows of a run in a clone are those on disk, and it says so.
func TestProtocolW5AClonesOwnFilesCount(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, files: map[string]string{
		"a.txt": "one\n", ".agentmux/config.yaml": "version: 2\ndefaults: {workflow: feature}\n",
	}})
	r.write(filepath.Join(r.clone, ".agentmux", "config.yaml"), "version: 2\ndefaults: {workflow: tiny}\n")
	r.write(filepath.Join(r.clone, ".agentmux", "workflows", "tiny.yaml"), `version: 1
name: tiny
description: Plan and make
start: planning
phases:
  - {id: planning, kind: plan, dir: 11_plan, next: {accepted: making}}
  - {id: making, kind: implement, dir: 12_make, next: {completed: ending}}
  - {id: ending, kind: complete, dir: 13_end, next: {approved: done, changes_requested: planning}}
`)
	r.write(filepath.Join(r.clone, ".agentmux", "prompts", "agents", "planner.md"), "Plan in rhyme.\n")
	r.write(filepath.Join(r.dir, "playbook.yaml"), strings.ReplaceAll(quickPlaybook, "04_planning", "11_plan"))
	res := r.expect(0, "issue", "1", "--headless")
	e := r.session()
	r.done(e)
	if e.State.Workflow != "tiny" || !strings.Contains(res.err, "config: working tree") {
		t.Errorf("workflow %s\n%s", e.State.Workflow, res.err)
	}
	if got := r.read(e.Dir, "11_plan", "planner_prompt.md"); !strings.Contains(got, "Plan in rhyme.") || !strings.Contains(got, "11_plan/plan.yaml") {
		t.Error("the prompt lacks the project's text, or names another directory")
	}
	if res := r.expect(0, "status"); !strings.Contains(res.out, "tiny, config: working tree") {
		t.Errorf("status names no source:\n%s", res.out)
	}
}

// workflows list and doctor say that a workflow with the name of a built-in one is never used.
func TestAWorkflowWithATakenNameIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	if res := r.expect(0, "workflows", "list"); res.err != "" {
		t.Errorf("without one it says %s", res.err)
	}
	r.write(filepath.Join(r.clone, ".agentmux", "workflows", "quick.yaml"), "version: 1\nname: quick\n")
	const said = ".agentmux/workflows/quick.yaml is never used: quick is built in, and that one runs"
	const step = "rename the file and the name in it; agentmux workflows check quick says"
	for _, args := range [][]string{{"workflows", "list"}, {"workflows", "list", "--json"}} {
		if res := r.expect(0, args...); !strings.HasPrefix(res.err, said+"; "+step) || strings.Count(res.err, "\n") != 1 || strings.Contains(res.out, "never") {
			t.Errorf("%q says %s", args, res.err)
		}
	}
	says(t, r.probed(0)["workflows"], doctor.Warning, said, step)
	if res := r.expect(2, "workflows", "check", "quick"); !strings.Contains(res.err, `"quick" is built in`) {
		t.Errorf("check says %s", res.err)
	}
}

// A prompt that could not be rendered is found before an agent starts, with its line.
func TestABrokenPromptIsFoundBeforeAnAgentStarts(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	quick := r.expect(0, "workflows", "show", "quick").out
	own := strings.Replace(strings.Replace(quick, "name: quick", "name: own", 1), "kind: implement,", "kind: implement, prompt: project/code,", 1)
	r.write(filepath.Join(r.clone, ".agentmux", "workflows", "own.yaml"), own)
	r.write(filepath.Join(r.clone, ".agentmux", "prompts", "project", "code.md"), "Do it.\n[[placeholder:nonsense]]\n[[include:nofile.md]]\n")
	for _, args := range [][]string{
		{"workflows", "check"}, {"workflows", "check", "own"}, {"doctor"}, {"run", "Say two", "--headless", "--workflow", "own"}, {"issue", "1", "--headless", "--workflow", "own"},
	} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			res := r.agentmux(args...)
			text := res.out + res.err
			if res.code == 0 || !strings.Contains(text, ".agentmux/prompts/project/code.md:2: [[placeholder:nonsense]]") ||
				!strings.Contains(text, ".agentmux/prompts/project/code.md:3: [[include:nofile.md]]") || !strings.Contains(text, "own") {
				t.Errorf("%v: exit %d\n%s", args, res.code, text)
			}
		})
	}
	if entries := r.sessions(); len(entries) > 0 {
		t.Errorf("started: %+v", entries)
	}
}

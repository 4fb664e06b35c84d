package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
	"gopkg.in/yaml.v3"
)

type actionStep struct {
	ID, If, Shell, Uses, Run string
	Env                      map[string]string
}

// theAction is action.yml.
func theAction(t *testing.T) (a struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []actionStep
	}
}) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err == nil {
		err = yaml.Unmarshal(text, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The action keeps its promises: each input reaches the program by a variable and never as a part of a
// script, each output is one of the program's, what it uses is pinned, and the step that the runner
// signals becomes the program.
func TestActionKeepsItsPromises(t *testing.T) {
	t.Parallel()
	a := theAction(t)
	for what, c := range map[string]struct {
		got  []string
		want string
	}{
		"inputs":  {slices.Sorted(maps.Keys(a.Inputs)), "checkpoint comments config dry-run github-token issue max-time sandbox state timeout-minutes transcripts version workflow"},
		"outputs": {slices.Sorted(maps.Keys(a.Outputs)), "branch digest exit-code head-sha outcome pr-number pr-url result-file session verdict"},
		"steps":   {ids(a.Runs.Steps), "binary doctor run report artifact left"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("%s %s, want %s", what, got, c.want)
		}
	}
	for input, want := range map[string]string{"github-token": "${{ github.token }}", "sandbox": "auto", "checkpoint": "true", "transcripts": "false", "dry-run": "false"} {
		if got := a.Inputs[input].Default; got != want {
			t.Errorf("the default of %s is %q, want %q", input, got, want)
		}
	}
	pinned, outputs := regexp.MustCompile(`@[0-9a-f]{40}$`), job.Outputs(outcome.Result{})
	for name, o := range a.Outputs {
		if o.Value != "${{ steps.report.outputs."+name+" }}" || !strings.Contains("\n"+outputs, "\n"+name+"=") {
			t.Errorf("output %s: %s", name, o.Value)
		}
	}
	if n := strings.Count(outputs, "\n"); n != len(a.Outputs) {
		t.Errorf("%d outputs of %d", len(a.Outputs), n)
	}
	var run actionStep
	for _, s := range a.Runs.Steps {
		if always := strings.HasPrefix(s.If, "always() && "); always != (s.ID == "report" || s.ID == "artifact" || s.ID == "left") {
			t.Errorf("step %s: if: %s", s.ID, s.If)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %s: an expression in a script", s.ID)
		}
		if s.Uses != "" && !pinned.MatchString(s.Uses) {
			t.Errorf("step %s: %s is not pinned", s.ID, s.Uses)
		}
		if s.ID == "run" {
			run = s
		}
	}
	for name := range a.Inputs {
		variable := job.InputPrefix + strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		if name != "github-token" && run.Env[variable] != "${{ inputs."+name+" }}" {
			t.Errorf("input %s is in no variable", name)
		}
	}
	lines := strings.Split(strings.TrimSpace(run.Run), "\n")
	if last := lines[len(lines)-1]; last != `exec "$AGENTMUX" issue "$ISSUE" --headless` || strings.ContainsAny(run.Run, "|&;`") || strings.Contains(run.Run, "trap") {
		t.Errorf("the step is not its program:\n%s", run.Run)
	}
	if run.Env[job.Variable] != "1" || a.Runs.Using != "composite" {
		t.Errorf("%+v", run)
	}
}

func ids(steps []actionStep) (list []string) {
	for _, s := range steps {
		list = append(list, s.ID)
	}
	return list
}

// step runs the script of a step of the action, as a runner does.
func (r *runner) step(id string, more ...string) (code int, log string) {
	r.t.Helper()
	steps := theAction(r.t.(*testing.T)).Runs.Steps
	i := slices.IndexFunc(steps, func(s actionStep) bool { return s.ID == id })
	script := filepath.Join(r.dir, id+".sh")
	r.write(script, steps[i].Run)
	own, err := r.program("issue")
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
	cmd.Dir, cmd.Env = r.dir, append(slices.Clone(r.env), append(more, "AGENTMUX="+own)...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// The steps of the action, one after the other, are a job: an end that needs a person is green, and
// outputs and summary say what it was. What an agent prints changes nothing.
func TestActionStepsAreAJob(t *testing.T) {
	t.Parallel()
	says := strings.Replace(quickPlaybook, "      - submit: {tool: submit_done", "      - run: {argv: [sh, -c, 'env; echo ::error::from an agent; echo ::add-path::/tmp/evil']}\n      - submit: {tool: submit_done", 1)
	r := newRunner(t, rigOptions{playbook: says})
	r.github.Repo(rigRepo).LetActionsOpenPulls(false) // as it is before somebody allows it
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	files := map[string]string{}
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH"} {
		files[name] = filepath.Join(r.dir, name)
		r.write(files[name], "")
		r.setEnv(name, files[name])
	}
	if code, log := r.step("doctor", job.InputPrefix+"ISSUE=1"); code != 0 || !strings.Contains(log, "issues: issue #1") {
		t.Errorf("doctor: exit %d\n%s", code, log)
	}
	if n := len(r.github.Log()); n != 0 {
		t.Errorf("doctor wrote %d times", n)
	}
	code, log := r.step("run", "ISSUE=1", job.InputPrefix+"ISSUE=1")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, log)
	}
	if got := runlog.Kinds(runlog.Commands(log)); !slices.Equal(got, []string{"endgroup", "group", "notice"}) {
		t.Errorf("heard %q\n%s", runlog.Commands(log), log)
	}
	if code, log := r.step("report"); code != 0 {
		t.Fatalf("exit %d\n%s", code, log)
	}
	read := func(name string) string {
		text, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	at := filepath.Join(r.temp, "agentmux", "artifact")
	if out := read("GITHUB_OUTPUT"); !strings.HasSuffix(out, "artifact="+at+"\n") || !strings.Contains(out, "outcome=needs_human\nexit-code=3\n") || !strings.Contains(out, "branch=agentmux/issue-1-say-two\n") {
		t.Errorf("outputs %s", out)
	}
	if page := read("GITHUB_STEP_SUMMARY"); !strings.HasPrefix(page, "### agentmux: needs human\n") || !strings.Contains(page, "| Phase | Time |") {
		t.Errorf("summary %s", page)
	}
	for name, kept := range map[string]bool{"events.jsonl": true, "issue_snapshot.json": true, "*/*.md": true, "state.json": false, "transcripts": false, "launches": false} {
		if found, _ := filepath.Glob(filepath.Join(at, name)); (len(found) > 0) != kept {
			t.Errorf("the artifact has %q: %q", name, found)
		}
	}
	if code, log := r.step("left"); code != 0 || len(runlog.Commands(log)) != 0 {
		t.Errorf("left: exit %d\n%s", code, log)
	}
	if _, err := os.Stat(filepath.Join(r.temp, "agentmux", "state", "agentmux")); !os.IsNotExist(err) {
		t.Errorf("files of the job are left: %v", err)
	}
	if read("GITHUB_ENV") != "" || read("GITHUB_PATH") != "" {
		t.Error("the files of the runner were written to")
	}
}

// Inputs that are wrong are refused all at once, each by an annotation with its name.
func TestActionRefusesBadInputs(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	r.event("issues", labelEvent("agentmux"))
	before := r.github.Requests("")
	code, log := r.step("run", "ISSUE=1", job.InputPrefix+"ISSUE=1; rm", job.InputPrefix+"MAX_TIME=soon", job.InputPrefix+"COMMENTS=a\nb", job.InputPrefix+"WORKFLOW=${{ x }}",
		job.InputPrefix+"STATE=here", job.InputPrefix+"CHECKPOINT=yes", job.InputPrefix+"TRANSCRIPTS='true'", job.InputPrefix+"DRY_RUN=1", job.InputPrefix+"SANDBOX=\"none\"",
		job.InputPrefix+"VERSION=latest", job.InputPrefix+"TIMEOUT_MINUTES=0", job.InputPrefix+"CONFIG="+r.dir)
	var named []string
	for _, c := range runlog.Commands(log) { // no annotation says all of them once more
		title, _ := strings.CutPrefix(c, "::error title=input ")
		name, _, _ := strings.Cut(title, "::")
		named = append(named, name)
	}
	if want := []string{"checkpoint", "comments", "config", "dry-run", "issue", "max-time", "sandbox", "state", "timeout-minutes", "transcripts", "version", "workflow"}; code != 2 || !slices.Equal(named, want) || r.github.Requests("") != before {
		t.Errorf("exit %d, named %q, want %q\n%s", code, named, want, log)
	}
}

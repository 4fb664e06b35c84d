package main

import (
	"encoding/json"
	"fmt"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
)

// actProgram is nektos/act, which runs workflows as a runner does. `make test-act` builds and names it.
var actProgram = os.Getenv("AGENTMUX_TEST_ACT")

// theCommit is what the workflow pins the action to.
const theCommit = "0123456789abcdef0123456789abcdef01234567"

// actRunner is a runner whose jobs act runs: those of the workflow that init --actions prints, with the action and
// the sources of this checkout.
type actRunner struct {
	*runner
	source string // of the action
	kept   string // where artifacts are uploaded to
}

// actLine is a line of act's log.
type actLine struct {
	Msg     string         `json:"msg"`
	Level   string         `json:"level"`
	Job     string         `json:"jobID"`
	Raw     bool           `json:"raw_output"` // what a step printed
	Command string         `json:"command"`    // what a step told the runner to do
	Args    map[string]any `json:"kvPairs"`
	Arg     string         `json:"arg"`
	Content string         `json:"content"` // of a summary
	Step    []string       `json:"stepID"`
	Stage   string         `json:"stage"`
	Result  string         `json:"stepResult"`
}

// actJob is what a run of act showed.
type actJob struct {
	code    int
	lines   []actLine
	text    string
	outputs map[string]string // of the action
}

// actUpload stands for actions/upload-artifact, which is a program for node: it copies.
const actUpload = `name: upload
inputs: {name: {required: true}, path: {required: true}, if-no-files-found: {}, overwrite: {}, retention-days: {}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", FROM: "${{ inputs.path }}"}
      run: mkdir -p "$ACT_KEPT" && cp -R "$FROM" "$ACT_KEPT/$NAME"
`

var uploadPin = regexp.MustCompile(`actions/upload-artifact@[0-9a-f]{40}`)

func newActRunner(t *testing.T, o rigOptions) *actRunner {
	t.Helper()
	if actProgram == "" {
		t.Skip("`make test-act` runs it")
	}
	r := &actRunner{runner: newRunner(t, o)}
	r.source, r.kept = filepath.Join(r.dir, "action"), filepath.Join(r.dir, "kept")
	root := filepath.Join("..", "..")
	list, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if name == ".release/digests" { // the sources are what is tested
			continue
		}
		at, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			continue // deleted and not committed
		}
		r.write(filepath.Join(r.source, name), r.read(filepath.Join(root, name)))
		if err := os.Chmod(filepath.Join(r.source, name), at.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	r.write(filepath.Join(r.dir, "upload", "action.yml"), actUpload)
	r.write(filepath.Join(r.dir, "agentmux.yml"), r.workflow())
	return r
}

// workflow is the one of init --actions, with a checkout first, as many have it, without queue, which it does not
// know, and with a last step that keeps what the steps after the action have of it.
func (r *actRunner) workflow() string {
	r.t.Helper()
	const action, last = "      - uses: agentmux/agentmux@<40-hex commit>\n", `      - if: always()
        env: {OUTPUTS: "${{ toJSON(steps.agentmux.outputs) }}"}
        run: |
          echo "$OUTPUTS" >"$ACT_OUTPUTS"
          env >"$ACT_AFTER"
`
	text := regexp.MustCompile(`(?m)^ *queue: .*\n`).ReplaceAllString(r.expect(0, "init", "--actions").out, "")
	parts := strings.Split(text, action)
	if len(parts) != 3 || !strings.HasPrefix(parts[1], "        with: {issue: ") || parts[2] != "" {
		r.t.Fatalf("not the workflow that is known here\n%s", text)
	}
	with, rest, _ := strings.Cut(parts[1], "\n")
	pinned := "      - uses: actions/checkout@" + theCommit + "\n      - id: agentmux\n        uses: agentmux/agentmux@" + theCommit + "\n"
	return parts[0] + pinned + strings.Replace(with, "{", "{version: local, workflow: quick, ", 1) + "\n" + last + rest + pinned + "        with: {version: local}\n" + last
}

// act has act run the workflow for an event. While is called with its process; it may be nil.
func (r *actRunner) act(event, payload string, while func(*os.Process)) actJob {
	r.t.Helper()
	for name, text := range map[string]string{"event.json": payload, "secrets": "", "outputs": "{}", "after": ""} {
		r.write(filepath.Join(r.dir, name), text)
	}
	upload := uploadPin.FindString(r.read(r.source, "action.yml"))
	args := []string{
		event, "-C", r.clone, "-W", filepath.Join(r.dir, "agentmux.yml"), "-e", filepath.Join(r.dir, "event.json"), "--json", "--pull=false", "--no-cache-server",
		"--action-cache-path", filepath.Join(r.dir, "c"), "--secret-file", filepath.Join(r.dir, "secrets"), "-P", "self-hosted=-self-hosted", "-P", "agentmux=-self-hosted",
		"--local-repository", "agentmux/agentmux@" + theCommit + "=" + r.source, "--local-repository", upload + "=" + filepath.Join(r.dir, "upload"),
	}
	var env []string
	for _, v := range r.env {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "GITHUB_TOKEN": // a runner has it in no variable
			r.write(filepath.Join(r.dir, "secrets"), v+"\n")
		case job.Variable, "XDG_STATE_HOME", "RUNNER_TEMP", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_ACTIONS":
		default:
			if strings.HasPrefix(name, "GITHUB_") {
				args = append(args, "--env", name+"="+value)
			} else {
				env = append(env, v)
			}
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS"} { // the action is built as everything here is
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			r.t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	env = append(env, "ACT_KEPT="+r.kept, "ACT_OUTPUTS="+filepath.Join(r.dir, "outputs"), "ACT_AFTER="+filepath.Join(r.dir, "after"))
	log := new(output)
	cmd := exec.Command(actProgram, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, env, log, log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // where the test ends before it
	if while != nil {
		while(cmd.Process)
	}
	_ = cmd.Wait() // the code says it
	j := actJob{code: cmd.ProcessState.ExitCode(), text: log.String()}
	for line := range strings.Lines(j.text) {
		var l actLine
		if json.Unmarshal([]byte(line), &l) == nil {
			j.lines = append(j.lines, l)
		}
	}
	if err := json.Unmarshal([]byte(r.read(r.dir, "outputs")), &j.outputs); err != nil {
		r.t.Fatalf("%v\n%s", err, j.text)
	}
	return j
}

// told lists what the steps told the runner to do: the names of the commands that it obeyed, each once.
func (j actJob) told() []string {
	var names []string
	stopped := ""
	for _, l := range j.lines {
		switch {
		case l.Command == "stop-commands":
			stopped = l.Arg
		case l.Command == stopped || l.Command == "ignored" || l.Command == "" || slices.Contains(names, l.Command):
		default:
			names = append(names, l.Command)
		}
	}
	slices.Sort(names)
	return names
}

// steps is how the steps of the action ended.
func (j actJob) steps() map[string]string {
	ended := map[string]string{}
	for _, l := range j.lines {
		if l.Result != "" && l.Stage == "Main" && len(l.Step) == 2 && l.Step[0] == "agentmux" {
			ended[l.Step[1]] = l.Result
		}
	}
	return ended
}

// summary is what the steps wrote for the page of the run.
func (j actJob) summary() (text string) {
	for _, l := range j.lines {
		text += l.Content
	}
	return text
}

// printed is what the steps printed.
func (j actJob) printed() (text string) {
	for _, l := range j.lines {
		if l.Raw {
			text += l.Msg
		}
	}
	return text
}

// actLabel is the event of a label that a person has set.
func actLabel(name string) string {
	return `{"action":"labeled",` + ofRepo + `,"sender":{"type":"User"},"label":{"name":"` + name + `"},"issue":{"number":1}}`
}

// actComment is the event of a comment by a person.
func actComment(issue, body string) string {
	return `{"action":"created",` + ofRepo + `,"sender":{"type":"User"},"issue":` + issue + `,"comment":{"body":"` + body + `"}}`
}

// ended fails unless a job of act left nothing on the runner, gave its claim back, and kept the token to itself. After a job
// that failed act leaves the runner's directory where it is.
func (r *actRunner) ended(j actJob) {
	r.t.Helper()
	var left []string
	homes, _ := filepath.Glob(filepath.Join(r.dir, "c", "*", "tmp", "agentmux", "state"))
	for _, home := range homes {
		_ = filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				left = append(left, path)
			}
			return err
		})
	}
	if len(left) != 0 || r.claimRef() != "" {
		r.t.Errorf("left: %q, claim %q", left, r.claimRef())
	}
	after := r.read(r.dir, "after")
	if path := "PATH=" + os.Getenv("PATH"); after != "" && !slices.Contains(strings.Split(after, "\n"), path) || strings.Contains(after, "EVIL") {
		r.t.Errorf("the variables of the next step: %s", after)
	}
	if token := strings.TrimSpace(strings.TrimPrefix(r.read(r.dir, "secrets"), "GITHUB_TOKEN=")); token == "" || strings.Contains(j.printed(), token) {
		r.t.Errorf("the token was printed: %s", j.text)
	}
}

// TestActTurnsALabelIntoAPullRequest has an issue that gets the label become a pull request. What the agent prints changes
// nothing: neither the variables of the next step nor what the run shows.
func TestActTurnsALabelIntoAPullRequest(t *testing.T) {
	evil := strings.Join([]string{"::add-path::/tmp/EVIL", "::set-env name=EVIL::1", "::add-mask::agentmux", "::error::EVIL", "::set-output name=outcome::EVIL", "##[error]EVIL"}, "; ")
	says := strings.Replace(quickPlaybook, "      - submit: {tool: submit_done", "      - run: {argv: [sh, -c, 'IFS=\";\"; for l in $0; do echo \"${l# }\"; done', \""+evil+"\"]}\n      - submit: {tool: submit_done", 1)
	r := newActRunner(t, rigOptions{playbook: says})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	j := r.act("issues", actLabel("agentmux:quick"), nil)
	if j.code != 0 || len(repo.Pulls()) != 1 || !r.isDone(rigRepo, 1) {
		t.Fatalf("exit %d, %d pull requests\n%s", j.code, len(repo.Pulls()), j.text)
	}
	pull := repo.Pulls()[0]
	for name, want := range map[string]string{
		"outcome": "done", "exit-code": "0", "branch": pull.Head, "pr-number": fmt.Sprint(pull.Number), "verdict": "pass",
		"pr-url": fmt.Sprintf("%s/%s/pull/%d", r.github.URL(), rigRepo, pull.Number), "head-sha": repo.Refs()["refs/heads/"+pull.Head],
	} {
		if j.outputs[name] != want {
			t.Errorf("output %s is %q, want %q", name, j.outputs[name], want)
		}
	}
	if got, want := j.told(), []string{"endgroup", "group", "set-output", "summary"}; !slices.Equal(got, want) {
		t.Errorf("told the runner %q, want %q", got, want)
	}
	var groups []string
	for _, l := range j.lines {
		if l.Command == "group" {
			groups = append(groups, l.Arg)
		}
	}
	if want := []string{"planning", "implementing", "reviewing", "completing"}; !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
	if page := j.summary(); !strings.HasPrefix(page, "### agentmux: done\n") || !strings.Contains(page, "| Phase | Time |") || strings.Contains(page, "EVIL") {
		t.Errorf("summary %s", page)
	}
	if found, _ := filepath.Glob(filepath.Join(r.kept, "agentmux-"+j.outputs["session"], "events.jsonl")); len(found) != 1 {
		t.Errorf("no artifact of %q", j.outputs["session"])
	}
	r.ended(j)
}

// TestActOtherEventsCostNothing has events that ask for nothing send no request.
func TestActOtherEventsCostNothing(t *testing.T) {
	r := newActRunner(t, rigOptions{})
	before := r.github.Requests("github-actions[bot]")
	for name, c := range map[string]struct {
		event, payload string
		ran            bool // the action, which says none
	}{
		"another label":          {"issues", actLabel("bug"), false},
		"another label like it":  {"issues", actLabel("agentmux-later"), true},
		"the label of a program": {"issues", strings.Replace(actLabel("agentmux"), "User", "Bot", 1), false},
		"another comment":        {"issue_comment", actComment(`{"number":1}`, "thanks"), false},
		"no command":             {"issue_comment", actComment(`{"number":1}`, "/agentmuxed"), true},
	} {
		j := r.act(c.event, c.payload, nil)
		if outcome := j.outputs["outcome"]; j.code != 0 || (outcome == "none") != c.ran || !c.ran && outcome != "" {
			t.Errorf("%s: exit %d, outcome %q\n%s", name, j.code, outcome, j.text)
		}
	}
	if n := r.github.Requests("github-actions[bot]") - before; n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestActHearsComments has a job that waits for a person end green, the job of the answer continue its session, and one of
// a comment on its pull request begin once more.
func TestActHearsComments(t *testing.T) {
	r := newActRunner(t, rigOptions{playbook: parkedPlaybook, config: parksSoon})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	parked := r.act("issues", actLabel("agentmux:quick"), nil)
	if parked.code != 0 || parked.outputs["outcome"] != "needs_human" || parked.outputs["exit-code"] != "3" || !slices.Contains(parked.told(), "notice") {
		t.Fatalf("exit %d, outputs %q, told %q\n%s", parked.code, parked.outputs, parked.told(), parked.text)
	}
	r.ended(parked)
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.anotherRunner(78)
	repo.Comment(1, "/agentmux answer 2", rigOwner)
	answered := r.act("issue_comment", actComment(`{"number":1}`, "/agentmux answer 2"), nil)
	if answered.outputs["outcome"] != "done" || answered.outputs["session"] != parked.outputs["session"] || len(repo.Pulls()) != 1 {
		t.Fatalf("outputs %q\n%s", answered.outputs, answered.text)
	}
	r.ended(answered)
	repo.SetRun(fakehub.Run{ID: 78, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.anotherRunner(79)
	pull := repo.Pulls()[0].Number
	repo.Comment(pull, "/agentmux retry", rigOwner)
	again := r.act("issue_comment", actComment(fmt.Sprintf(`{"number":%d,"pull_request":{}}`, pull), "/agentmux retry"), nil)
	if again.outputs["session"] == "" || again.outputs["session"] == parked.outputs["session"] {
		t.Errorf("outputs %q\n%s", again.outputs, again.text)
	}
	r.ended(again)
}

// TestActSweeps has the schedule start what was lost, three labels, two dead jobs and one that was handed over, without a session.
func TestActSweeps(t *testing.T) {
	r := newActRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux", rigOwner)
	for range 2 {
		repo.AddIssue(fakehub.IssueSpec{Title: "More", Body: "More.\n", Author: rigOwner, Labels: []string{"agentmux"}})
	}
	for issue := 4; issue <= 7; issue++ {
		repo.AddIssue(fakehub.IssueSpec{Title: "More", Body: "More.\n", Author: rigOwner})
		repo.SetRun(fakehub.Run{ID: int64(100 + issue), Attempt: 1, Status: "completed", Conclusion: "failure"})
	}
	repo.SetRun(fakehub.Run{ID: 107, Attempt: 1, Status: "in_progress"})
	r.putClaims(jobOf, claim.Running, 4, 5, 7)
	r.putClaims(jobOf, claim.Handover, 6)
	r.setEnv("GITHUB_TOKEN", r.github.ActionsToken(rigRepo, map[string]string{"contents": "read", "issues": "read", "actions": "write"}, 0))
	r.setEnv("GITHUB_RUN_ID", "78")
	j := r.act("schedule", `{`+ofRepo+`}`, nil)
	var sent []string
	for _, d := range repo.Dispatches() {
		sent = append(sent, d.Inputs["issue"])
	}
	if want := []string{"1", "2", "3", "4", "5", "6"}; j.code != 0 || !slices.Equal(sent, want) || j.outputs["outcome"] != "swept" || j.outputs["session"] != "" || len(repo.Pulls()) != 0 {
		t.Errorf("exit %d, dispatched %q, outputs %q\n%s", j.code, sent, j.outputs, j.text)
	}
}

// TestActInterrupted has a job that is canceled, as a runner does it, end in order: act itself would kill the step.
func TestActInterrupted(t *testing.T) {
	at := filepath.Join(t.TempDir(), "at")
	r := newActRunner(t, rigOptions{playbook: waitingAt(at)})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	j := r.act("issues", actLabel("agentmux:quick"), func(act *os.Process) {
		r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, nil)
		if err := syscall.Kill(child(t, act.Pid), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	})
	if j.code == 0 || j.outputs["outcome"] != "canceled" || j.outputs["exit-code"] != "130" || !strings.HasPrefix(j.summary(), "### agentmux: canceled") {
		t.Errorf("exit %d, outputs %q\n%s", j.code, j.outputs, j.text)
	}
	const well = "success"
	if got, want := j.steps(), map[string]string{"binary": well, "doctor": well, "run": "failure", "report": well, "artifact": well, "left": well}; !maps.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
	if !r.hasLabel(rigRepo, 1, "agentmux:failed") || len(repo.Pulls()) != 0 || len(r.savedOnes()) != 1 {
		t.Errorf("labels %v, saved %q\n%s", repo.Issue(1).Labels, r.savedOnes(), j.text)
	}
	r.ended(j)
}

// child is the one process that another one has started and that did not end.
func child(t *testing.T, of int) int {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var children []int
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		if _, err := fmt.Sscan(line, &pid, &parent); err == nil && parent == of {
			children = append(children, pid)
		}
	}
	if len(children) != 1 {
		t.Fatalf("children of %d: %v", of, children)
	}
	return children[0]
}

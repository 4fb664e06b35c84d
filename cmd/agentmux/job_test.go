package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
)

// runner is a machine that runs jobs of the action.
type runner struct {
	*rig
	temp string
}

// newRunner is a rig whose commands run as the step of the action in a job of a run.
func newRunner(t testing.TB, o rigOptions) *runner {
	t.Helper()
	o.unlabel = true
	o.config += botConfig
	if o.playbook == "" {
		o.playbook = quickPlaybook
	}
	r := &runner{rig: newRig(t, o)}
	r.temp = filepath.Join(r.dir, "t")
	repo := r.github.Repo(rigRepo)
	repo.LetActionsOpenPulls(true)
	token := r.github.ActionsToken(rigRepo, map[string]string{
		"contents": "write", "issues": "write", "pull_requests": "write", "statuses": "write", "actions": "read", "checks": "read",
	}, 0)
	for name, value := range map[string]string{
		"GITHUB_ACTIONS": "true", job.Variable: "1", "GITHUB_REPOSITORY": rigRepo, "RUNNER_TEMP": r.temp, "XDG_STATE_HOME": filepath.Join(r.temp, "state"),
		"GITHUB_RUN_ID": "77", "GITHUB_RUN_ATTEMPT": "1", "AGENTMUX_GITHUB_TOKEN": "", "GITHUB_TOKEN": token,
		"GITHUB_WORKFLOW_REF": rigRepo + "/.github/workflows/agentmux.yml@refs/heads/main",
	} {
		r.setEnv(name, value)
	}
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "in_progress"})
	return r
}

// event makes the event of the next commands.
func (r *runner) event(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, "event.json")
	r.write(file, text)
	r.setEnv("GITHUB_EVENT_NAME", name)
	r.setEnv("GITHUB_EVENT_PATH", file)
}

const ofRepo = `"repository":{"full_name":"` + rigRepo + `"}`

func labelEvent(name string) string {
	return `{"action":"labeled",` + ofRepo + `,"label":{"name":"` + name + `"},"issue":{"number":1}}`
}

func commentEvent(body string) string {
	text, _ := json.Marshal(body)
	return `{"action":"created",` + ofRepo + `,"issue":{"number":1},"comment":{"body":` + string(text) + `}}`
}

// result is result.json of the last command.
func (r *runner) result() job.Result {
	r.t.Helper()
	res, err := job.ReadResult(filepath.Join(r.temp, "agentmux", "result.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// A label makes the job run to a pull request, without a clone.
func TestJobTurnsALabelIntoAPullRequest(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	ran := r.expect(0, "issue", "1", "--headless")
	if len(repo.Pulls()) != 1 {
		t.Fatalf("%d pull requests\n%s%s", len(repo.Pulls()), ran.out, ran.err)
	}
	got := r.result()
	if got.Outcome != "done" || got.ExitCode != 0 || got.PRNumber == 0 || got.Session == "" || got.HeadSHA == "" || got.Digest == "" || len(got.Phases) == 0 {
		t.Errorf("result %+v\n%s", got, ran.out)
	}
	if !r.isDone(rigRepo, 1) {
		t.Errorf("labels %v", repo.Issue(1).Labels)
	}
	if left := r.ourRefs(); slices.ContainsFunc(left, func(ref string) bool { return !strings.HasPrefix(ref, "refs/agentmux/sessions/") }) {
		t.Errorf("left on the server: %v", left)
	}
	if !strings.Contains(ran.out, "::group::implementing") {
		t.Errorf("no group of a phase\n%s", ran.out)
	}
	if outside := runlog.Commands(ran.out); !slices.Equal(runlog.Kinds(outside), []string{"endgroup", "group"}) {
		t.Errorf("commands %q", outside)
	}
}

// TestGitHub34OtherEventsCostNothing is row 34 of github section 15: what asks for nothing, and what
// cannot be read, sends no request.
func TestGitHub34OtherEventsCostNothing(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	before := r.github.Requests("github-actions[bot]")
	for name, c := range map[string]struct {
		event, text string
		code        int
	}{
		"another label":            {"issues", labelEvent("bug"), 0},
		"another label like ours":  {"issues", labelEvent("agentmux-later"), 0},
		"a label taken off":        {"issues", strings.Replace(labelEvent("agentmux"), "labeled", "unlabeled", 1), 0},
		"a push":                   {"push", "{", 0},
		"a comment without a verb": {"issue_comment", commentEvent("thanks\n/agentmux stop"), 0},
		"another repository":       {"issues", strings.Replace(labelEvent("agentmux"), rigRepo, "acme/other", 1), 0},
		"no number":                {"issues", strings.Replace(labelEvent("agentmux"), `"number":1`, `"number":"1; rm"`, 1), 2},
		"an input with more":       {"workflow_dispatch", `{` + ofRepo + `,"inputs":{"issue":"1; rm"}}`, 2},
		"a cut file":               {"issues", labelEvent("agentmux")[:40], 2},
		"25 MB":                    {"issues", `{"x":"` + strings.Repeat("a", 25<<20) + `"}`, 2},
	} {
		r.event(c.event, c.text)
		res := r.agentmux("issue", "", "--headless")
		if res.code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s", name, res.code, c.code, res.out)
		}
		if got := r.result(); got.ExitCode != c.code {
			t.Errorf("%s: result %+v", name, got)
		}
	}
	r.setEnv("GITHUB_EVENT_PATH", filepath.Join(r.dir, "nothing"))
	r.setEnv("GITHUB_EVENT_NAME", "issues")
	r.expect(2, "issue", "1", "--headless")
	if n := r.github.Requests("github-actions[bot]") - before; n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A comment starts an issue again whose session is not on this machine.
func TestJobHearsTheCommentThatStartedIt(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	repo.Comment(1, "/agentmux retry", rigOwner)
	r.setEnv(job.InputPrefix+"WORKFLOW", "quick")
	r.event("issue_comment", commentEvent("/agentmux retry"))
	ran := r.expect(0, "issue", "1", "--headless")
	if len(repo.Pulls()) != 1 || r.result().Outcome != "done" {
		t.Errorf("%d pull requests, result %+v\n%s", len(repo.Pulls()), r.result(), ran.out)
	}
}

// waitingAt is a playbook whose coder makes a file, and then waits for ever.
func waitingAt(file string) string {
	return strings.Replace(heldUntil(file+".never"), "      - run:", fmt.Sprintf("      - run: {argv: [touch, %q]}\n      - run:", file), 1)
}

// TestGitHub66AJobIsCanceledInOrder is row 66 of github section 15, in a job.
func TestGitHub66AJobIsCanceledInOrder(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	run := r.background("issue", "1", "--headless")
	r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, nil)
	if code := run.exit(syscall.SIGINT); code != 130 {
		t.Errorf("exit %d\n%s", code, run.out.String())
	}
	if got := r.result(); got.Outcome != "canceled" || got.ExitCode != 130 {
		t.Errorf("result %+v", got)
	}
	if !r.hasLabel(rigRepo, 1, "agentmux:failed") {
		t.Errorf("labels %v", repo.Issue(1).Labels)
	}
	if r.claimRef() != "" {
		t.Error("the claim is left")
	}
}

// TestGitHub90TheSweepStartsWhatWasLost is part of rows 34 and 90 of github section 15.
func TestGitHub90TheSweepStartsWhatWasLost(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	run := r.background("issue", "1", "--headless")
	r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, nil)
	run.exit(syscall.SIGKILL)
	r.setEnv("GITHUB_TOKEN", r.github.ActionsToken(rigRepo, map[string]string{"contents": "read", "issues": "read", "actions": "write"}, 0))
	for range 3 {
		repo.AddIssue(fakehub.IssueSpec{Title: "More", Body: "More.\n", Author: rigOwner, Labels: []string{"agentmux"}})
	}
	r.event("schedule", "{}")
	r.setEnv("GITHUB_RUN_ID", "78")
	numbers := func() (list []string) {
		for _, d := range repo.Dispatches() {
			list = append(list, d.Workflow+" "+d.Ref+" "+d.Inputs["issue"])
		}
		return list
	}
	r.expect(0, "issue", "", "--headless")
	want := []string{"agentmux.yml main 2", "agentmux.yml main 3", "agentmux.yml main 4"}
	if got := numbers(); !slices.Equal(got, want) {
		t.Errorf("dispatched %q, want %q", got, want)
	}
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "failure"})
	r.expect(0, "issue", "", "--headless")
	if got := numbers()[3:]; !slices.Equal(got, append([]string{"agentmux.yml main 1"}, want...)) {
		t.Errorf("dispatched %q", got)
	}
	if got := r.result(); got.Outcome != "swept" || !slices.Equal(got.Dispatched, []int{1, 2, 3, 4}) || got.Session != "" {
		t.Errorf("result %+v", got)
	}
}

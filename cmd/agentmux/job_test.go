package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// runner is a machine that runs jobs of the action.
type runner struct {
	*rig
	temp   string
	within []string // what starts the steps of the action; empty: nothing
}

// newRunner is a rig whose commands run as the step of the action in a job of a run.
func newRunner(t testing.TB, o rigOptions) *runner {
	t.Helper()
	o.unlabel = true
	o.config += botConfig
	if o.playbook == "" {
		o.playbook = quickPlaybook
	}
	return asRunner(newRig(t, o))
}

// asRunner makes the commands of a machine the step of the action in a job of run 77.
func asRunner(of *rig) *runner {
	r := &runner{rig: of}
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
func (r *runner) result() outcome.Result {
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
	var inSession outcome.Result
	err := filepath.WalkDir(r.dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == outcome.File && filepath.Base(filepath.Dir(filepath.Dir(path))) == ".sessions" {
			inSession, err = outcome.Read(path)
		}
		return err
	})
	if err != nil || !reflect.DeepEqual(inSession, got) {
		t.Errorf("in the session: %+v, %v", inSession, err)
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
	testfull.Only(t)
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

// A number that is not an issue's is nothing to work on. A job that is told one asks little before it ends.
func TestJobOfANumberThatIsNoIssue(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	r.expect(0, "issue", "1", "--headless")
	r.anotherRunner(78)
	for name, number := range map[string]int{"not there": 99, "a pull request": repo.Pulls()[0].Number} {
		before, _ := r.asked()
		r.event("workflow_dispatch", fmt.Sprintf(`{`+ofRepo+`,"inputs":{"issue":"%d"}}`, number))
		r.expect(0, "issue", fmt.Sprint(number), "--headless")
		after, _ := r.asked()
		if got := r.result(); got.Outcome != job.OutcomeNone || got.Session != "" || after-before > 5 {
			t.Errorf("%s: result %+v after %d requests", name, got, after-before)
		}
	}
}

// A comment starts an issue again whose session is not on this machine. The steps of the action end with the pull request.
func TestJobHearsTheCommentThatStartedIt(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	repo.Comment(1, "/agentmux retry", rigOwner)
	r.event("issue_comment", commentEvent("/agentmux retry"))
	ran := r.action(map[string]string{"issue": "1", "workflow": "quick"}, nil)
	if want := (map[string]int{"doctor": 0, "run": 0, "report": 0, "left": 0}); len(repo.Pulls()) != 1 || !maps.Equal(ran.codes, want) {
		t.Fatalf("%d pull requests, steps %v\n%s", len(repo.Pulls()), ran.codes, ran.logs)
	}
	pull := repo.Pulls()[0]
	if got := ran.outputs; got["outcome"] != "done" || got["exit-code"] != "0" || got["pr-number"] != fmt.Sprint(pull.Number) || got["branch"] != pull.Head || got["head-sha"] == "" {
		t.Errorf("outputs %q", got)
	}
	if !strings.HasPrefix(ran.summary, "### agentmux: done") || !strings.Contains(ran.summary, fmt.Sprintf("#%d", pull.Number)) {
		t.Errorf("summary %s", ran.summary)
	}
	if got := runlog.Kinds(runlog.Commands(ran.logs["run"])); !slices.Equal(got, []string{"endgroup", "group"}) {
		t.Errorf("commands %q", got)
	}
	if files := r.kept(); len(files) != 0 || r.claimRef() != "" {
		t.Errorf("left: %q, claim %q", files, r.claimRef())
	}
}

// A comment on the pull request of a session is for its issue, also where that session never was, and if a person has
// written another text there.
func TestGitHub76ACommentOnThePullRequestIsOfItsIssue(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, text := range map[string]string{"as it was made": "", "with a text of a person": "This adds a line.\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commentOnPull(t, text)
		})
	}
}

func commentOnPull(t *testing.T, text string) {
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	r.expect(0, "issue", "1", "--headless")
	pull := repo.Pulls()[0].Number
	if text != "" {
		repo.EditIssue(pull, rigOwner, nil, &text)
	}
	r.temp = filepath.Join(r.dir, "other")
	for name, value := range map[string]string{"RUNNER_TEMP": r.temp, "XDG_STATE_HOME": filepath.Join(r.temp, "state"), "GITHUB_RUN_ID": "78", job.InputPrefix + "WORKFLOW": "quick"} {
		r.setEnv(name, value)
	}
	repo.SetRun(fakehub.Run{ID: 78, Attempt: 1, Status: "in_progress"})
	on := func(number int) string {
		return strings.Replace(commentEvent("/agentmux retry"), `"issue":{"number":1}`, fmt.Sprintf(`"issue":{"number":%d,"pull_request":{}}`, number), 1)
	}
	repo.Comment(pull, "/agentmux retry", rigOwner)
	r.event("issue_comment", on(pull))
	ran := r.expect(0, "issue", fmt.Sprint(pull), "--headless")
	if got := r.result(); got.Issue != 1 || got.Session == "" || len(repo.Pulls()) != 2 {
		t.Errorf("result %+v, %d pull requests\n%s", got, len(repo.Pulls()), ran.out)
	}
}

// waitingAt is a playbook whose coder makes a file, and then waits for ever.
func waitingAt(file string) string {
	return strings.Replace(heldUntil(file+".never"), "      - run:", fmt.Sprintf("      - run: {argv: [touch, %q]}\n      - run:", file), 1)
}

// TestGitHub66AJobIsCanceledInOrder is row 66 of github section 15, in a job.
func TestGitHub66AJobIsCanceledInOrder(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	ran := r.action(map[string]string{"issue": "1"}, func(step *os.Process) {
		r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, nil)
		if err := step.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	})
	if want := (map[string]int{"doctor": 0, "run": 130, "report": 0, "left": 0}); !maps.Equal(ran.codes, want) {
		t.Errorf("steps %v\n%s", ran.codes, ran.logs)
	}
	if got := ran.outputs; got["outcome"] != "canceled" || got["exit-code"] != "130" || got["pr-number"] != "" || !strings.HasPrefix(ran.summary, "### agentmux: canceled") {
		t.Errorf("outputs %q\n%s", got, ran.summary)
	}
	if !r.hasLabel(rigRepo, 1, "agentmux:failed") {
		t.Errorf("labels %v", repo.Issue(1).Labels)
	}
	if files := r.kept(); len(files) != 0 || r.claimRef() != "" || len(r.savedOnes()) != 1 {
		t.Errorf("left: %q, claim %q, saved %q", files, r.claimRef(), r.savedOnes())
	}
}

// A job whose session a person stopped says so in its outputs, and is green: it did what it was told.
func TestAJobWhoseSessionIsStoppedIsGreen(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	ran := r.action(map[string]string{"issue": "1"}, func(*os.Process) {
		r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, nil)
		r.github.Repo(rigRepo).Comment(1, "/agentmux stop", rigOwner)
	})
	if want := (map[string]int{"doctor": 0, "run": 0, "report": 0, "left": 0}); !maps.Equal(ran.codes, want) {
		t.Errorf("steps %v\n%s", ran.codes, ran.logs)
	}
	if got := ran.outputs; got["outcome"] != "canceled" || got["exit-code"] != "130" || !strings.Contains(ran.logs["run"], "::notice title=agentmux::canceled") {
		t.Errorf("outputs %q\n%s", got, ran.logs["run"])
	}
}

// deadJob is a runner on which a job was killed while its coder worked, and another machine on which the
// next commands run as the job of another run.
func deadJob(t *testing.T, config string) *runner {
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at), config: config})
	if config == "" {
		r.saveOften()
	}
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	run := r.background("issue", "1", "--headless")
	r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, nil)
	if config == "" {
		r.eventually("the session is saved on the server, with the planner's end", func() bool {
			return slices.ContainsFunc(r.savedOnes(), func(ref string) bool {
				return exec.Command("git", "-C", repo.Dir(), "grep", "--quiet", `"type":"agent_exited"`, ref).Run() == nil
			})
		}, run.out.String)
	}
	run.exit(syscall.SIGKILL)
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "failure"})
	repo.SetRun(fakehub.Run{ID: 79, Attempt: 1, Status: "in_progress"})
	r.write(at+".never", "") // the next coder does not wait
	r.temp = filepath.Join(r.dir, "other")
	for name, value := range map[string]string{"RUNNER_TEMP": r.temp, "XDG_STATE_HOME": filepath.Join(r.temp, "state"), "GITHUB_RUN_ID": "79"} {
		r.setEnv(name, value)
	}
	return r
}

// sweeps runs the sweep and returns the issues that it dispatched.
func (r *runner) sweeps() []int {
	r.t.Helper()
	r.setEnv("GITHUB_TOKEN", r.github.ActionsToken(rigRepo, map[string]string{"contents": "read", "issues": "read", "actions": "write"}, 0))
	r.event("schedule", "{}")
	r.expect(0, "issue", "", "--headless")
	return r.result().Dispatched
}

// TestGitHub67TheNextJobContinuesForAKilledRunner is row 67 of github section 15: the job that a sweep starts for a dead one takes
// its claim, and continues its session from the checkpoint: same branch, same comment, one pull request. The next sweep has
// nothing to do.
func TestGitHub67TheNextJobContinuesForAKilledRunner(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := deadJob(t, "")
	repo := r.github.Repo(rigRepo)
	r.event("workflow_dispatch", `{`+ofRepo+`,"inputs":{"issue":"1"}}`)
	ran := r.expect(0, "issue", "1", "--headless")
	got := r.result()
	if got.Outcome != "done" || len(repo.Pulls()) != 1 || r.claimRef() != "" || !strings.HasPrefix(got.Moved, "moved from a_77_1, work of ") {
		t.Errorf("result %+v, %d pull requests, claim %q\n%s", got, len(repo.Pulls()), r.claimRef(), ran.out)
	}
	if u := got.Usage; !slices.ContainsFunc(u, func(r story.RoleSpent) bool { return r.Role == "planner" && r.Launches == 1 }) {
		t.Errorf("the planner worked on the dead runner, and its launch is not counted: %#v", u)
	}
	if all := ran.out + ran.err; strings.Count(all, "jobs=2 each=300") != 1 { // the dead one counts as long as it has its claim
		t.Errorf("how the requests of an hour are divided:\n%s", all)
	}
	branches := 0
	for ref := range repo.Refs() {
		if strings.HasPrefix(ref, "refs/heads/") && ref != "refs/heads/main" {
			branches++
		}
	}
	if branches != 1 {
		t.Errorf("%d branches", branches)
	}
	comments := repo.Comments(1)
	if n := strings.Count(fmt.Sprint(comments), "kind=status"); n != 1 || !strings.HasPrefix(comments[0].Body, "### agentmux: done") ||
		!strings.Contains(comments[0].Body, "Moved from `a_77_1`, work of ") {
		t.Errorf("%d status comments: %s", n, comments[0].Body)
	}
	if again := r.sweeps(); len(again) != 0 {
		t.Errorf("dispatched %d", again)
	}
}

// Without a checkpoint the job begins once more; the comment of the lost session says so. The next sweep has nothing to do.
func TestGitHub90ADeadJobIsFollowedOnce(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := deadJob(t, "checkpoint: {remote: false}\n")
	repo := r.github.Repo(rigRepo)
	r.event("workflow_dispatch", `{`+ofRepo+`,"inputs":{"issue":"1"}}`)
	ran := r.expect(0, "issue", "1", "--headless")
	if got := r.result(); got.Outcome != "done" || len(repo.Pulls()) != 1 || r.claimRef() != "" {
		t.Errorf("result %+v, %d pull requests, claim %q\n%s", got, len(repo.Pulls()), r.claimRef(), ran.out)
	}
	comments := repo.Comments(1)
	if body := comments[0].Body; !strings.HasPrefix(body, "### agentmux: lost: its host a_77_1 is gone") || !strings.Contains(body, "begins once more") {
		t.Errorf("the comment of the lost session: %s", body)
	}
	if n := strings.Count(fmt.Sprint(comments), "kind=status"); n != 2 {
		t.Errorf("%d status comments", n)
	}
	if body := comments[1].Body; !strings.HasPrefix(body, "### agentmux: done") {
		t.Errorf("the comment of the session that follows: %s", body)
	}
	if again := r.sweeps(); len(again) != 0 {
		t.Errorf("dispatched %d", again)
	}
}

// A comment stops what a dead job left.
func TestJobStopsWhatADeadOneLeft(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := deadJob(t, "")
	repo := r.github.Repo(rigRepo)
	repo.Comment(1, "/agentmux stop", rigOwner)
	r.event("issue_comment", commentEvent("/agentmux stop"))
	ran := r.expect(0, "issue", "1", "--headless")
	if len(repo.Pulls()) != 0 || r.claimRef() != "" || len(repo.Issue(1).Labels) != 0 {
		t.Errorf("%d pull requests, claim %q, labels %v\n%s", len(repo.Pulls()), r.claimRef(), repo.Issue(1).Labels, ran.out)
	}
	if again := r.sweeps(); len(again) != 0 {
		t.Errorf("dispatched %d", again)
	}
}

// A dead job whose issue was closed meanwhile is not followed: labels and claim go.
func TestGitHub90ADeadJobOfAClosedIssueIsForgotten(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := deadJob(t, "")
	repo := r.github.Repo(rigRepo)
	repo.CloseIssue(1, rigOwner)
	r.event("workflow_dispatch", `{`+ofRepo+`,"inputs":{"issue":"1"}}`)
	ran := r.expect(0, "issue", "1", "--headless")
	if got := r.result(); got.Outcome != "none" || len(repo.Pulls()) != 0 || r.claimRef() != "" || len(repo.Issue(1).Labels) != 0 {
		t.Errorf("result %+v, claim %q, labels %v\n%s", got, r.claimRef(), repo.Issue(1).Labels, ran.out)
	}
	comments := repo.Comments(1)
	if body := comments[0].Body; len(comments) != 1 || !strings.HasPrefix(body, "### agentmux: lost: its host a_77_1 is gone, and ") || !strings.Contains(body, "is closed") || strings.Contains(body, "sha256") {
		t.Errorf("%d comments: %s", len(comments), body)
	}
	if again := r.sweeps(); len(again) != 0 {
		t.Errorf("dispatched %d", again)
	}
}

// A token that may not write ends the job with one annotation that says what to change.
func TestJobWithAReadOnlyTokenSaysSo(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	r.setEnv("GITHUB_TOKEN", r.github.ActionsToken(rigRepo, map[string]string{"contents": "read", "issues": "write", "pull_requests": "write", "actions": "read"}, 0))
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	ran := r.expect(2, "issue", "1", "--headless")
	said := runlog.Annotations(ran.out, "error")
	if text := said["agentmux"]; len(said) != 1 || !strings.Contains(text, "the token may not write to "+rigRepo) || !strings.Contains(text, "init --actions") {
		t.Errorf("annotations %q\n%s", said, ran.out)
	}
	if got := r.result(); got.Outcome != "error" || got.ExitCode != 2 {
		t.Errorf("result %+v", got)
	}
}

// What the runner lacks is one annotation that names it, before the issue changes.
func TestJobSaysWhatTheRunnerLacks(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bare := t.TempDir() // git alone
	if err := os.Symlink(git, filepath.Join(bare, "git")); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(r.env)
	away := "http://127.0.0.1:1" // where nothing answers
	for lack, of := range map[string][]string{
		"HOME is not set": {"HOME", ""}, "tmux": {"PATH", bare},
		"no room for a session on this runner: 0.0 GiB of 2.0 GiB are free in /proc": {"XDG_STATE_HOME", "/proc"},
		"127.0.0.1:1: connection refused; is the network up":                         {"GITHUB_SERVER_URL", away, "GITHUB_API_URL", away + "/api/v3", "GITHUB_GRAPHQL_URL", away + "/api/graphql"},
	} {
		if of[1] == "/proc" && runtime.GOOS != "linux" {
			continue
		}
		r.env = slices.Clone(before)
		for i := 0; i < len(of); i += 2 {
			r.setEnv(of[i], of[i+1])
		}
		ran := r.expect(2, "issue", "1", "--headless")
		said := runlog.Annotations(ran.out, "error")
		if text := said["agentmux"]; len(said) != 1 || len(runlog.Annotations(ran.out, "warning")) > 0 || !strings.Contains(text, lack) {
			t.Errorf("%s: annotations %q\n%s", lack, said, ran.out)
		}
	}
	if labels := r.github.Repo(rigRepo).Issue(1).Labels; !slices.Equal(labels, []string{"agentmux:quick"}) {
		t.Errorf("labels %q", labels)
	}
}

// Without the right to open pull requests the branch is there, and a person is told what to do.
func TestGitHub76AJobThatNeedsAPersonIsGreen(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	r.setEnv("GITHUB_TOKEN", r.github.ActionsToken(rigRepo, map[string]string{"contents": "write", "issues": "write", "pull_requests": "read", "actions": "read"}, 0))
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	ran := r.expect(0, "issue", "1", "--headless")
	said := runlog.Annotations(ran.out, "notice")
	if got := r.result(); got.Outcome != "needs_human" || got.ExitCode != 3 || got.Branch == "" || len(said) != 1 {
		t.Errorf("result %+v, annotations %q\n%s", got, said, ran.out)
	}
}

// TestGitHub90TheSweepStartsWhatWasLost is part of rows 34 and 90 of github section 15: of three issues whose label no job took,
// two that a dead job has, one that is let go of, and two that live hosts have, the first six are started once each.
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
	for issue := 5; issue <= 8; issue++ {
		repo.AddIssue(fakehub.IssueSpec{Title: "More", Body: "More.\n", Author: rigOwner})
		repo.SetRun(fakehub.Run{ID: int64(100 + issue), Attempt: 1, Status: "in_progress"})
	}
	repo.SetRun(fakehub.Run{ID: 105, Attempt: 2, Status: "in_progress"}) // a later attempt, which knows nothing of the first
	r.putClaims(jobOf, claim.Running, 5, 7)
	r.putClaims(jobOf, claim.Handover, 6)
	r.putClaims(func(int) claim.HostID { return claim.NewHostID() }, claim.Running, 8)
	ran := r.action(nil, nil)
	if want := (map[string]int{"doctor": 0, "run": 0, "report": 0, "left": 0}); !maps.Equal(ran.codes, want) || ran.outputs["outcome"] != "swept" || ran.outputs["session"] != "" {
		t.Errorf("steps %v, outputs %q\n%s", ran.codes, ran.outputs, ran.logs)
	}
	want = append([]string{"agentmux.yml main 1"}, append(want, "agentmux.yml main 5", "agentmux.yml main 6")...)
	if got := numbers()[3:]; !slices.Equal(got, want) {
		t.Errorf("dispatched %q, want %q", got, want)
	}
	if got := r.result(); got.Outcome != "swept" || !slices.Equal(got.Dispatched, []int{1, 2, 3, 4, 5, 6}) || got.Session != "" {
		t.Errorf("result %+v", got)
	}
	if files := r.kept(); len(files) != 0 || len(repo.Pulls()) != 0 || !strings.HasPrefix(ran.summary, "### agentmux: swept") {
		t.Errorf("left: %q, %d pull requests\n%s", files, len(repo.Pulls()), ran.summary)
	}
}

// A job on a runner that never saw the repository removes the checkpoint of a session that ended weeks ago, by the date of its
// commit, and no younger one.
func TestJobRemovesOldCheckpoints(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	done := filepath.Join(t.TempDir(), "done")
	r := newRunner(t, rigOptions{playbook: heldUntil(done)})
	repo := r.github.Repo(rigRepo)
	const old, changed = checkpoints + "20200101-100000-issue-7-x-0123456789abcdef", checkpoints + "20200102-100000-issue-8-x-0123456789abcdef"
	for ref, date := range map[string]string{old: "@1577959200 +0000", changed: fmt.Sprintf("@%d +0000", time.Now().Unix())} {
		before := slices.Clone(r.env)
		for _, name := range []string{"AUTHOR", "COMMITTER"} {
			r.setEnv("GIT_"+name+"_NAME", "a")
			r.setEnv("GIT_"+name+"_EMAIL", "a@example.test")
			r.setEnv("GIT_"+name+"_DATE", date)
		}
		r.git(repo.Dir(), "update-ref", ref, r.git(repo.Dir(), "commit-tree", "-m", "checkpoint", r.git(repo.Dir(), "rev-parse", "main^{tree}")))
		r.env = before
	}
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	run := r.background("issue", "1", "--headless")
	r.eventually("the old checkpoint is removed", func() bool { return repo.Refs()[old] == "" }, run.out.String)
	r.write(done, "")
	run.over()
	if repo.Refs()[changed] == "" || r.result().Outcome != "done" {
		t.Errorf("refs %v, result %+v", repo.Refs(), r.result())
	}
}

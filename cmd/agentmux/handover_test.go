package main

import (
	"context"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// agedEnv has a command hand its session over when SIGUSR1 tells it that 22 hours are over.
const agedEnv = "AGENTMUX_TEST_AGED"

// runAged is runProcess for such a command.
func runAged(panes string) int {
	return runProcess(panes, func(_ *app, cancel context.CancelCauseFunc) {
		aged := make(chan os.Signal, 1)
		signal.Notify(aged, syscall.SIGUSR1)
		go func() { <-aged; cancel(host.ErrHandOver) }()
	})
}

// handsOver runs the job of a label, which is 22 hours old when its coder has made the file of waitingAt, and hands its session
// over. The next commands run as the job of another run on another machine, where the coder does not wait.
func (r *runner) handsOver(label, at string) (result outcome.Result, log string) {
	r.t.Helper()
	repo := r.github.Repo(rigRepo)
	repo.Label(1, label, rigOwner)
	r.event("issues", labelEventNow(label))
	r.setEnv(agedEnv, "1")
	run := r.background("issue", "1", "--headless")
	r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, nil)
	if code := run.exit(syscall.SIGUSR1); code != 0 {
		r.t.Fatalf("exit %d\n%s", code, run.out.String())
	}
	r.setEnv(agedEnv, "")
	result = r.result()
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.write(at+".never", "")
	r.anotherRunner(79)
	return result, run.out.String()
}

// continued runs the job that a sweep starts for a session that was handed over.
func (r *runner) continued() outcome.Result {
	r.t.Helper()
	r.event("workflow_dispatch", `{`+ofRepo+`,"inputs":{"issue":"1"}}`)
	r.expect(0, "issue", "1", "--headless")
	return r.result()
}

// continuesElsewhere fails unless a sweep on another runner starts one job for the session that was handed over, and that job
// comes to its one result.
func (r *runner) continuesElsewhere() {
	r.t.Helper()
	r.anotherRunner(79)
	env := r.env
	if lost := r.sweeps(); !slices.Equal(lost, []int{1}) {
		r.t.Errorf("dispatched %d", lost)
	}
	r.env = env
	if got := r.continued(); got.Outcome != "done" {
		r.t.Errorf("result %+v", got)
	}
	r.oneOfJobs()
}

// TestGitHub90AJobOf22HoursHandsOver is part of row 90 of github section 15: a job whose token ends soon saves its session, marks
// its claim and ends green with 3; the sweep starts one job for it, which continues. Both stay in the budget of section 11.
func TestGitHub90AJobOf22HoursHandsOver(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	repo := r.github.Repo(rigRepo)
	former, log := r.handsOver("agentmux:quick", at)
	said := runlog.Annotations(log, "notice")
	if former.Outcome != job.OutcomeHandover || former.ExitCode != 3 || former.Session == "" || len(said) != 1 {
		t.Errorf("result %+v, annotations %q\n%s", former, said, log)
	}
	if labels := repo.Issue(1).Labels; !slices.Equal(labels, []string{"agentmux:running"}) || r.claimRef() == "" || len(r.savedOnes()) != 1 {
		t.Errorf("labels %q, claim %q, saved %q", labels, r.claimRef(), r.savedOnes())
	}
	first, _ := r.asked()
	env := r.env
	if lost := r.sweeps(); !slices.Equal(lost, []int{1}) {
		t.Errorf("dispatched %d", lost)
	}
	r.env = env
	swept, _ := r.asked()
	got := r.continued()
	if all, _ := r.asked(); first+all-swept > handOverBudget {
		t.Errorf("%d requests, at most %d\n%s", first+all-swept, handOverBudget, r.github.Transcript())
	} else {
		t.Logf("%d requests", first+all-swept)
	}
	if got.Outcome != "done" || len(repo.Pulls()) != 1 || r.claimRef() != "" || got.Session != former.Session || !strings.HasPrefix(got.Moved, "moved from a_77_1, work of ") {
		t.Errorf("result %+v, %d pull requests, claim %q", got, len(repo.Pulls()), r.claimRef())
	}
	if again := r.sweeps(); len(again) != 0 {
		t.Errorf("dispatched %d", again)
	}
}

// asked counts what the jobs asked of GitHub, and apart from it what watching the lists of a live repository costs.
func (r *runner) asked() (requests, looks int) {
	for _, c := range r.github.Calls() {
		switch {
		case !c.Counted || c.Actor != jobActor:
		case lookRule.MatchString(c.Path):
			looks++
		default:
			requests++
		}
	}
	return requests, looks
}

// submissionsOf counts what coders have handed in, and their launches.
func (r *runner) submissionsOf() (handedIn, launches int) {
	r.t.Helper()
	for _, e := range r.recordsOf(r.onRunner()) {
		switch d := e.Data.(type) {
		case orchestrator.SubmissionRecord:
			if d.Role == "coder" {
				handedIn++
			}
		case orchestrator.AgentStartedRecord:
			if d.Role == "coder" {
				launches++
			}
		}
	}
	return handedIn, launches
}

// oneOfJobs fails unless the jobs have come to one result: one branch, one pull request, one status comment, no claim.
func (r *runner) oneOfJobs() {
	r.t.Helper()
	repo, branches, status := r.github.Repo(rigRepo), 0, 0
	for ref := range repo.Refs() {
		if strings.HasPrefix(ref, "refs/heads/") {
			branches++
		}
	}
	for _, c := range repo.Comments(1) {
		if strings.Contains(c.Body, "### agentmux: ") {
			status++
		}
	}
	if branches != 2 || len(repo.Pulls()) != 1 || status != 1 || r.claimRef() != "" {
		r.t.Errorf("%d branches, %d pull requests, %d status comments, claim %q", branches, len(repo.Pulls()), status, r.claimRef())
	}
	r.done(r.onRunner())
}

// agedJob starts a job that hands over when it gets SIGUSR1. Its coder makes the file at, and waits.
func agedJob(t *testing.T, at string) (*runner, *background) {
	t.Helper()
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEventNow("agentmux:quick"))
	r.setEnv(agedEnv, "1")
	return r, r.background("issue", "1", "--headless")
}

// What an agent hands in at the very moment of a hand-over is taken before the session is saved: the next job continues behind it.
func TestGitHub90WhatIsHandedInDuringAHandOverIsTaken(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r, run := agedJob(t, at)
	repo := r.github.Repo(rigRepo)
	r.eventually("the coder works, and its start is on record", func() bool {
		_, err := os.Stat(at)
		if err != nil {
			return false
		}
		_, launches := r.submissionsOf()
		return launches == 1
	}, nil)
	if err := run.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.write(at+".never", "")
	lines := filepath.Join(r.onRunner().Dir, session.ToolEvents)
	r.eventually("the coder hands in", func() bool {
		text, _ := os.ReadFile(lines)
		return strings.Contains(string(text), `"submit_done"`)
	}, nil)
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGCONT} {
		if err := run.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	run.over()
	if got := r.result(); got.Outcome != job.OutcomeHandover {
		t.Fatalf("result %+v\n%s", got, run.out.String())
	}
	if handedIn, launches := r.submissionsOf(); handedIn != 1 || launches != 1 {
		t.Errorf("handed in %d times by %d launches\n%s", handedIn, launches, run.out.String())
	}
	r.setEnv(agedEnv, "")
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.anotherRunner(79)
	if got := r.continued(); got.Outcome != "done" {
		t.Errorf("result %+v", got)
	}
	if handedIn, launches := r.submissionsOf(); handedIn != 1 || launches != 1 {
		t.Errorf("handed in %d times by %d launches in all", handedIn, launches)
	}
	r.oneOfJobs()
}

// What an agent of a paused session has handed in is not lost when the session is handed over: the next job has it, asks no agent
// once more, and waits, too, until a person ends the pause.
func TestGitHub90APausedSessionIsHandedOver(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r, run := agedJob(t, at)
	repo := r.github.Repo(rigRepo)
	r.eventually("the coder works, and its start is on record", func() bool {
		_, err := os.Stat(at)
		if err != nil {
			return false
		}
		_, launches := r.submissionsOf()
		return launches == 1
	}, run.out.String)
	repo.Comment(1, "/agentmux pause", rigOwner)
	r.eventually("the session is paused", func() bool { return r.onRunner().State.Paused }, run.out.String)
	r.write(at+".never", "")
	r.eventually("the coder hands in", func() bool {
		text, _ := os.ReadFile(filepath.Join(r.onRunner().Dir, session.ToolEvents))
		return strings.Contains(string(text), `"submit_done"`)
	}, run.out.String)
	run.exit(syscall.SIGUSR1)
	if got := r.result(); got.Outcome != job.OutcomeHandover {
		t.Fatalf("result %+v\n%s", got, run.out.String())
	}
	r.setEnv(agedEnv, "")
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.continuesPaused()
}

// continuesPaused has a job on another runner take a paused session over, whose work was handed in before, and a person end
// the pause.
func (r *runner) continuesPaused() {
	r.t.Helper()
	r.anotherRunner(79)
	r.event("workflow_dispatch", `{`+ofRepo+`,"inputs":{"issue":"1"}}`)
	run := r.background("issue", "1", "--headless")
	r.eventually("the session is here, and the work is integrated", func() bool {
		entries := managedSessions(r.t, filepath.Join(r.temp, "state"))
		return len(entries) == 1 && entries[0].State != nil && entries[0].State.ResumeCount > 0 && len(entries[0].State.CompletedSubplans) == 1
	}, run.out.String)
	if s := r.onRunner().State; !s.Paused || s.Phase != "implementing" {
		r.t.Errorf("paused %v in %s", s.Paused, s.Phase)
	}
	r.github.Repo(rigRepo).Comment(1, "/agentmux resume", rigOwner)
	run.over()
	if got := r.result(); got.Outcome != "done" {
		r.t.Errorf("result %+v\n%s", got, run.out.String())
	}
	if handedIn, launches := r.submissionsOf(); handedIn != 1 || launches != 1 {
		r.t.Errorf("handed in %d times by %d launches in all", handedIn, launches)
	}
	r.oneOfJobs()
}

// What an agent of a paused session hands in is saved as such, at once and not when the next checkpoint is due. When the runner is killed,
// the next job has it, asks no agent once more, and waits, too.
func TestProtocolR7APausedSessionOfAKilledRunner(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at), config: "checkpoint: {every: 1h}\n"})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEventNow("agentmux:quick"))
	run := r.background("issue", "1", "--headless")
	r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, run.out.String)
	repo.Comment(1, "/agentmux pause", rigOwner)
	r.eventually("the session is paused", func() bool { return r.onRunner().State.Paused }, run.out.String)
	r.write(at+".never", "")
	r.eventually("what the coder hands in is on the server", func() bool {
		return slices.ContainsFunc(r.savedOnes(), func(ref string) bool {
			records := r.git(repo.Dir(), "show", ref+":session/"+session.EventsFile)
			return strings.Contains(records, `"paused"`) && strings.Contains(records, `"submit_done"`)
		})
	}, run.out.String)
	run.exit(syscall.SIGKILL)
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "failure"})
	r.continuesPaused()
}

// A runner that cancels a job while it hands its session over signals twice and then kills it. The checkpoint is whole or the one
// before, so the next job continues, to one result.
func TestGitHub90AHandOverThatIsCutShortLosesNothing(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, fault := range map[string]fakehub.Fault{"the push arrives": {}, "the push is lost": {Drop: fakehub.BeforeApplying}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := filepath.Join(t.TempDir(), "at")
			r, run := agedJob(t, at)
			repo := r.github.Repo(rigRepo)
			r.eventually("the coder works and is saved", func() bool {
				_, err := os.Stat(at)
				return err == nil && len(r.savedOnes()) > 0 && !slices.ContainsFunc(r.onRunner().State.Pending, func(e orchestrator.Effect) bool { return e.Type == orchestrator.EffCheckpoint })
			}, nil)
			saved := repo.Refs()[r.savedOnes()[0]]
			hold := make(chan struct{})
			fault.Route, fault.Hold = "GIT push", hold
			before := r.github.Faulted()
			r.github.Inject(fault)
			for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGINT} {
				if err := run.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				r.eventually("the checkpoint is pushed", func() bool { return r.github.Faulted() > before }, run.out.String)
			}
			run.insist(syscall.SIGTERM)
			if code := run.cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit %d\n%s", code, run.out.String())
			}
			close(hold)
			if code, log := r.step("left"); code != 0 {
				t.Errorf("left: exit %d\n%s", code, log)
			}
			r.github.Heal()
			if now := repo.Refs()[r.savedOnes()[0]]; fault.Drop == fakehub.BeforeApplying && now != saved {
				t.Errorf("the checkpoint is %s, was %s", now, saved)
			}
			r.setEnv(agedEnv, "")
			repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "cancelled"})
			r.write(at+".never", "")
			r.continuesElsewhere()
		})
	}
}

// A job that knows its timeout-minutes hands its session over before a runner cancels it, and with it the session: what agents wait
// for counts there, too.
func TestGitHub90AJobHandsOverBeforeItsTimeEnds(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEventNow("agentmux:quick"))
	ran := r.action(map[string]string{"issue": "1", "timeout-minutes": "1"}, nil)
	if want := (map[string]int{"doctor": 0, "run": 0, "report": 0, "left": 0}); !maps.Equal(ran.codes, want) {
		t.Errorf("steps %v\n%s", ran.codes, ran.logs)
	}
	if got := ran.outputs; got["outcome"] != job.OutcomeHandover || got["exit-code"] != "3" || r.claimRef() == "" || len(r.savedOnes()) != 1 {
		t.Errorf("outputs %q, claim %q, saved %q\n%s", got, r.claimRef(), r.savedOnes(), ran.summary)
	}
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.write(at+".never", "")
	r.anotherRunner(79)
	if got := r.continued(); got.Outcome != "done" {
		t.Errorf("result %+v", got)
	}
	r.oneOfJobs()
}

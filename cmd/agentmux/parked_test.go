package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// parkedPlaybook is quickPlaybook with a planner that asks first.
var parkedPlaybook = strings.Replace(quickPlaybook, "  - role: planner\n    steps:\n", `  - role: planner
    attempt: 1
    steps:
      - submit: {tool: ask_human, with: {question: "Which of the two?", options: [a, b]}}
  - role: planner
    steps:
      - expect: "Answer: b"
`, 1)

// parksSoon has a session parked at once when a person has to answer.
const parksSoon = "limits: {human_wait: 1s}\nquestions: {on_timeout: park}\n"

// anotherRunner makes the next commands the job of another run on a machine that has nothing of this one.
func (r *runner) anotherRunner(id int64) {
	r.t.Helper()
	r.temp = filepath.Join(r.dir, fmt.Sprint("r", id))
	for name, value := range map[string]string{"RUNNER_TEMP": r.temp, "XDG_STATE_HOME": filepath.Join(r.temp, "state"), "GITHUB_RUN_ID": fmt.Sprint(id)} {
		r.setEnv(name, value)
	}
	r.github.Repo(rigRepo).SetRun(fakehub.Run{ID: id, Attempt: 1, Status: "in_progress"})
}

// onRunner is the one session of the runner.
func (r *runner) onRunner() session.Entry {
	r.t.Helper()
	entries := managedSessions(r.t, filepath.Join(r.temp, "state"))
	if len(entries) != 1 || entries[0].State == nil {
		r.t.Fatalf("%+v", entries)
	}
	return entries[0]
}

// A session goes from host to host: a person starts it, and it is parked; the job of the answer continues it, and its runner is
// killed; a bot takes it, and is killed; the person resumes it in the directory that was overtaken. There is one result.
func TestProtocolR8OneSessionGoesFromHostToHost(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: parkedPlaybook, config: parksSoon})
	repo := r.github.Repo(rigRepo)
	r.expect(3, append([]string{"issue", "1"}, quickRun...)...)
	e := r.session()

	held := strings.Replace(parkedPlaybook, "      - submit: {tool: submit_done, with: {subplan_index: 1}}\n", "      - hang: true\n", 1)
	j := asRunner(r.elsewhere(rigOptions{playbook: held, config: botConfig}))
	j.saveOften()
	repo.Comment(1, "/agentmux answer 2", rigOwner)
	j.event("issue_comment", commentEvent("/agentmux answer 2"))
	b := j.background("issue", "1", "--headless")
	var atJob session.Entry
	j.eventually("what the coder wrote in the job is on the server", func() bool {
		entries := managedSessions(t, filepath.Join(j.temp, "state"))
		if len(entries) != 1 || entries[0].State == nil {
			return false
		}
		atJob = entries[0]
		_, m, _ := j.saved(atJob)
		return m.Host == "a_77_1" && slices.ContainsFunc(slices.Collect(maps.Values(m.Work)), func(w checkpoint.Work) bool { return len(w.Changed) > 0 })
	}, b.out.String)
	b.exit(syscall.SIGKILL)
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "failure"})

	other := r.elsewhere(rigOptions{playbook: held, config: botConfig})
	other.saveOften()
	b = other.background("bot")
	var atBot session.Entry
	other.eventually("the bot continues it, and has saved that it does", func() bool {
		entries := other.served(rigRepo)
		if len(entries) != 1 || entries[0].State == nil {
			return false
		}
		atBot = entries[0]
		_, m, _ := other.saved(atBot)
		return m.Host != "" && m.Host != "a_77_1"
	}, b.out.String)
	b.exit(syscall.SIGKILL)
	r.asJob("a_81_1")
	if atJob.State.Identity != e.State.Identity || atBot.State.Identity != e.State.Identity {
		t.Errorf("identities %s, %s, %s", e.State.Identity, atJob.State.Identity, atBot.State.Identity)
	}

	if res := r.expect(4, "resume", e.Name, "--headless", "--take"); !strings.Contains(res.err, "went on elsewhere") {
		t.Errorf("%s", res.err)
	}
	r.write(filepath.Join(r.dir, "playbook.yaml"), laterPlaybook)
	r.expect(0, "resume", e.Name, "--headless", "--from-checkpoint")
	r.oneResult(r.session(), 2)
	if text := r.git(repo.Dir(), "show", e.State.FeatureBranch+":a.txt"); text != "two" {
		t.Errorf("a.txt holds %q", text)
	}
}

// managedSessions are the sessions of the repository below a state home.
func managedSessions(t testing.TB, home string) []session.Entry {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(home, "agentmux", "*", filepath.FromSlash(rigRepo)))
	if err != nil || len(dirs) != 1 {
		return nil
	}
	entries, err := session.List(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestGitHub76TheJobOfTheAnswerContinues is part of row 76 of github section 15: a job that parks its session gives its
// runner back; the job of the answer, on a runner that never had the session, restores it and ends it.
func TestGitHub76TheJobOfTheAnswerContinues(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{playbook: parkedPlaybook, config: parksSoon})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	ran := r.expect(0, "issue", "1", "--headless")
	parked := r.result()
	if parked.Outcome != "needs_human" || parked.ExitCode != 3 || len(parked.Questions) != 1 || r.claimRef() != "" {
		t.Fatalf("result %+v, claim %q\n%s", parked, r.claimRef(), ran.out)
	}
	if after := r.onRunner().State.Settings.ParkAfter; after != orchestrator.Duration(10*time.Minute) {
		t.Errorf("without the limit it is parked after %s", after.D())
	}
	repo.SetRun(fakehub.Run{ID: 77, Attempt: 1, Status: "completed", Conclusion: "success"})
	r.anotherRunner(79)
	id := repo.Comment(1, "/agentmux answer 2", rigOwner)
	r.event("issue_comment", commentEvent("/agentmux answer 2"))
	ran = r.expect(0, "issue", "1", "--headless")
	got := r.result()
	if got.Outcome != "done" || got.Session != parked.Session || len(repo.Pulls()) != 1 || r.claimRef() != "" {
		t.Errorf("result %+v, %d pull requests, claim %q\n%s%s", got, len(repo.Pulls()), r.claimRef(), ran.out, ran.err)
	}
	status := 0
	for _, c := range repo.Comments(1) {
		if strings.Contains(c.Body, "kind=status") {
			status++
		}
		if c.ID == id && strings.Join(c.Reactions, ",") != "github-actions[bot] eyes,github-actions[bot] +1" {
			t.Errorf("receipts %q", c.Reactions)
		}
	}
	if status != 1 {
		t.Errorf("%d status comments: %+v", status, repo.Comments(1))
	}
}

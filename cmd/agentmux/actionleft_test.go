package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// What a killed job left running is ended by the last step, which fails the job for it. Files go, too.
func TestActionFailsForWhatIsLeft(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	r.setEnv("XDG_STATE_HOME", filepath.Join(r.temp, "agentmux", "state"))
	run := r.background("issue", "1", "--headless")
	r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, nil)
	run.exit(syscall.SIGKILL)
	code, log := r.step("left")
	said := runlog.Annotations(log, "error")["left over"]
	if code != 1 || !strings.Contains(said, "processes of its agents: ") || !strings.Contains(said, "a tmux server at ") || strings.Contains(said, "still there") {
		t.Errorf("exit %d\n%s", code, log)
	}
	if _, err := os.Stat(filepath.Join(r.temp, "agentmux", "state", "agentmux")); !os.IsNotExist(err) {
		t.Errorf("files of the job are left: %v", err)
	}
	if code, log := r.step("left"); code != 0 {
		t.Errorf("once more: exit %d\n%s", code, log)
	}
	r.setEnv("RUNNER_TEMP", filepath.Join(r.dir, "elsewhere"))
	kept := filepath.Join(r.temp, "agentmux", "state", "agentmux", "kept")
	r.write(kept, "")
	script := strings.ReplaceAll(`XDG_STATE_HOME=TEMP/agentmux/state "$AGENTMUX" job left`, "TEMP", r.temp)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = append(r.env, "AGENTMUX="+own)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("removed what is not of a job\n%s", out)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// The clones below the input state are used by the next job, which fetches nothing again; sessions that
// are over leave no refs there.
func TestActionKeepsClonesInItsState(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	kept := filepath.Join(r.dir, "clones")
	for jobs := 1; jobs <= 2; jobs++ {
		issue := 1
		if jobs > 1 {
			issue = repo.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "More.\n", Author: rigOwner})
		}
		number := strconv.Itoa(issue)
		repo.Label(issue, "agentmux:quick", rigOwner)
		r.event("issues", strings.Replace(labelEvent("agentmux:quick"), `"number":1`, `"number":`+number, 1))
		if code, log := r.step("run", "ISSUE="+number, job.InputPrefix+"STATE="+kept); code != 0 || len(repo.Pulls()) != jobs {
			t.Fatalf("exit %d, %d pull requests\n%s", code, len(repo.Pulls()), log)
		}
		if code, log := r.step("left", job.InputPrefix+"STATE="+kept); code != 0 {
			t.Errorf("left: exit %d\n%s", code, log)
		}
	}
	stores, err := filepath.Glob(filepath.Join(kept, "*", "*", "*", "HEAD"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores %q, %v", stores, err)
	}
	out, err := exec.Command("git", "--git-dir", filepath.Dir(stores[0]), "for-each-ref", "--format=%(refname)", "refs/agentmux").Output()
	if err != nil {
		t.Fatal(err)
	}
	for ref := range strings.Lines(string(out)) {
		if !strings.HasPrefix(ref, "refs/agentmux/preserved/") && !strings.HasPrefix(ref, "refs/agentmux/base/") {
			t.Errorf("left in the store: %s", ref)
		}
	}
}

// Two jobs work at once with one input state, as those of two runners of a machine: each comes to its pull request, and the last
// step of the one that ends first leaves the work of the other alone.
func TestActionJobsShareTheirStateAtOnce(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	r.setEnv(job.InputPrefix+"STATE", filepath.Join(r.dir, "clones"))
	var runs []*background
	var envs [][]string
	works := func(n int) string { return filepath.Join(r.dir, "at"+strconv.Itoa(n)) }
	for n := range 2 {
		issue := 1
		if n > 0 {
			issue = repo.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "More.\n", Author: rigOwner})
		}
		number := strconv.Itoa(issue)
		r.anotherRunner(int64(80 + n))
		r.write(filepath.Join(r.dir, "playbook.yaml"), waitingAt(works(n)))
		repo.Label(issue, "agentmux:quick", rigOwner)
		file := filepath.Join(r.dir, "event-"+number+".json")
		r.write(file, strings.Replace(labelEvent("agentmux:quick"), `"number":1`, `"number":`+number, 1))
		r.setEnv("GITHUB_EVENT_NAME", "issues")
		r.setEnv("GITHUB_EVENT_PATH", file)
		runs, envs = append(runs, r.background("issue", number, "--headless")), append(envs, slices.Clone(r.env))
		r.eventually("its coder works", func() bool { _, err := os.Stat(works(n)); return err == nil }, runs[n].out.String)
	}
	for n, run := range runs {
		r.write(works(n)+".never", "")
		run.over()
		if code := run.cmd.ProcessState.ExitCode(); code != 0 || len(repo.Pulls()) != n+1 {
			t.Errorf("exit %d, %d pull requests\n%s", code, len(repo.Pulls()), run.out.String())
		}
		r.env = envs[n]
		if code, log := r.step("left"); code != 0 {
			t.Errorf("left: exit %d\n%s", code, log)
		}
	}
}

// A second job in the directory for temporary files of one that works is told so, begins nothing, and removes nothing of the first.
func TestActionJobsDoNotShareTheirDirectory(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	at := filepath.Join(t.TempDir(), "at")
	r := newRunner(t, rigOptions{playbook: waitingAt(at)})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	r.setEnv("XDG_STATE_HOME", filepath.Join(r.temp, "agentmux", "state"))
	run := r.background("issue", "1", "--headless")
	r.eventually("the coder works", func() bool { _, err := os.Stat(at); return err == nil }, run.out.String)
	issue := strconv.Itoa(repo.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "More.\n", Author: rigOwner}))
	r.event("issues", strings.Replace(labelEvent("agentmux:quick"), `"number":1`, `"number":`+issue, 1))
	r.setEnv("GITHUB_RUN_ID", "78")
	ran := r.expect(0, "issue", issue, "--headless")
	said := runlog.Annotations(ran.out, "notice")["agentmux"]
	if got := r.result(); got.ExitCode != 4 || !strings.Contains(said, "give each runner a work directory of its own; a request that has its label is started once more") {
		t.Errorf("result %+v, said %q", got, said)
	}
	if code, log := r.step("left"); code != 1 || !strings.Contains(runlog.Annotations(log, "error")["left over"], "a job still works") {
		t.Errorf("left: exit %d\n%s", code, log)
	}
	r.write(at+".never", "")
	run.over()
	if got := r.result(); got.Outcome != "done" || len(repo.Pulls()) != 1 {
		t.Errorf("result %+v, %d pull requests\n%s", got, len(repo.Pulls()), run.out.String())
	}
}

// The refs of a session that another host has now are not the job's to remove: that host may use the same clone.
func TestActionLeavesTheRefsOfASessionThatItLost(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	input := job.InputPrefix + "STATE=" + filepath.Join(r.dir, "clones")
	if code, log := r.step("run", "ISSUE=1", input); code != 0 {
		t.Fatalf("exit %d\n%s", code, log)
	}
	var file string
	if err := filepath.WalkDir(r.temp, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == session.StateFile {
			file = path
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s, err := orchestrator.Decode([]byte(r.read(file)))
	if err != nil {
		t.Fatal(err)
	}
	s.Phase, s.Outcome, s.OutcomeReason = orchestrator.PhaseFailed, orchestrator.OutcomeCanceled, orchestrator.ReasonClaimLost
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r.write(file, string(data))
	refs := func() string {
		stores, err := filepath.Glob(filepath.Join(r.dir, "clones", "*", "*", "*", "HEAD"))
		if err != nil || len(stores) != 1 {
			t.Fatalf("stores %q, %v", stores, err)
		}
		return r.git(filepath.Dir(stores[0]), "for-each-ref", "--format=%(refname)", "refs/agentmux")
	}
	before := refs()
	if code, log := r.step("left", input); code != 0 {
		t.Errorf("left: exit %d\n%s", code, log)
	}
	if after := refs(); after != before || !strings.Contains(after, s.Identity) {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// Transcripts are kept where they are asked for and the repository is private, and nowhere else.
func TestActionKeepsTranscriptsOfPrivateRepositories(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, private := range map[string]bool{"public": false, "private": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, rigOptions{private: private})
			r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
			r.event("issues", labelEvent("agentmux:quick"))
			code, log := r.step("run", "ISSUE=1", job.InputPrefix+"TRANSCRIPTS=true")
			found, err := filepath.Glob(filepath.Join(r.temp, "agentmux", "artifact", session.TranscriptsDir, "*"))
			if code != 0 || err != nil || (len(found) > 0) != private {
				t.Errorf("exit %d, transcripts %q, %v\n%s", code, found, err, log)
			}
			if said := runlog.Annotations(log, "notice")["input transcripts"]; (said != "") == private {
				t.Errorf("said %q", said)
			}
		})
	}
}

// A dry run prints what would be, and writes nothing.
func TestActionRunsDry(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	repo.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "More.\n", Author: rigOwner, Labels: []string{"agentmux"}})
	before := len(r.github.Log())
	r.event("issues", labelEvent("agentmux:quick"))
	code, log := r.step("run", "ISSUE=1", job.InputPrefix+"DRY_RUN=true")
	if code != 0 || !strings.Contains(log, rigRepo+"#1") || strings.Contains(log, "#2") || len(r.github.Log()) != before || r.claimRef() != "" {
		t.Errorf("exit %d, %d writes\n%s", code, len(r.github.Log())-before, log)
	}
	if got := r.result(); got.Outcome != "none" || !strings.Contains(got.Sentence, "dry run") {
		t.Errorf("result %+v", got)
	}
	r.setEnv("GITHUB_TOKEN", r.github.ActionsToken(rigRepo, map[string]string{"contents": "read", "issues": "read", "actions": "write"}, 0))
	r.event("schedule", "{}")
	if code, log := r.step("run", "ISSUE=", job.InputPrefix+"DRY_RUN=true"); code != 0 || len(repo.Dispatches()) != 0 || !strings.Contains(log, "would be started for #2") {
		t.Errorf("sweep: exit %d, dispatched %v\n%s", code, repo.Dispatches(), log)
	}
}

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
	"github.com/agentmux/agentmux/internal/testfull"
)

// registered makes the file of a runner's registration and the variables of a job on it.
func (r *runner) registered(kind, text string) {
	r.t.Helper()
	home := filepath.Join(r.dir, "actions-runner")
	r.write(filepath.Join(home, ".runner"), text)
	r.setEnv("RUNNER_ENVIRONMENT", kind)
	r.setEnv("RUNNER_WORKSPACE", filepath.Join(home, "_work", "widgets"))
}

// In a job doctor names the event, the runner and what the job's token lacks, with the line to change,
// and writes nothing.
func TestDoctorProbesTheJob(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{})
	repo := r.github.Repo(rigRepo)
	r.event("issues", labelEvent("agentmux"))
	r.registered("self-hosted", "\ufeff"+`{"agentId": 7, "agentName": "one", "workFolder": "_work"}`)
	rows := r.probed(0, "--actions")
	says(t, rows["event"], doctor.OK, "issues: issue #1")
	says(t, rows["exec"], doctor.OK, "signals of the runner reach")
	says(t, rows["runner"], doctor.Warning, "is kept", "--ephemeral")
	says(t, rows["sandbox"], doctor.Warning, "agents run as you")
	says(t, rows["permissions"], doctor.OK)
	for _, name := range []string{"git", "tmux", "user", "state", "runtime", "repository", "label", "public", "actions"} {
		if len(rows[name]) != 1 || rows[name][0].State == doctor.Failed {
			t.Errorf("%s: %+v", name, rows[name])
		}
	}
	for _, name := range []string{"slots", "webhook", "status", "webhooks", "clone", "workflow", "inputs"} {
		if len(rows[name]) > 0 {
			t.Errorf("%s: %+v", name, rows[name])
		}
	}
	if log := r.github.Log(); len(log) != 0 {
		t.Errorf("written: %+v", log)
	}

	repo.LetActionsOpenPulls(false)
	r.setEnv("GITHUB_TOKEN", r.github.ActionsToken(rigRepo, map[string]string{"contents": "write", "issues": "write", "statuses": "write"}, 0))
	r.registered("self-hosted", `{"ephemeral": true}`)
	rows = r.probed(0, "--actions", "--write") // the next step of the action decides
	says(t, rows["permissions"], doctor.Failed, "pull_requests", "permissions: {pull-requests: write}")
	says(t, rows["actions"], doctor.Skipped, "Allow GitHub Actions to create and approve pull requests")
	says(t, rows["runner"], doctor.OK, "registered for one job")
	r.registered("self-hosted", `{"AgentId": "7", "Ephemeral": "True"}`)
	says(t, r.probed(0, "--actions", "--write")["runner"], doctor.OK, "registered for one job")
	r.registered("github-hosted", "")
	rows = r.probed(0, "--actions", "--write")
	says(t, rows["runner"], doctor.OK, "a machine of GitHub")
	says(t, rows["sandbox"], doctor.Warning, "runner (agents run as you, on a machine that ends with the job)", "the sockets of tmux")
	says(t, rows["public"], doctor.OK, "on a machine that ends with the job")

	r.setEnv(job.InputPrefix+"MAX_TIME", "soon")
	r.setEnv("PATH", r.pathWithout("tmux"))
	rows = r.probed(0, "--actions")
	says(t, rows["inputs"], doctor.Failed, "max-time: expected a duration", "with:")
	says(t, rows["tmux"], doctor.Failed, "install tmux")
	r.setEnv(job.Variable, "")
	r.probed(3, "--actions") // a step that a person wrote is red
}

// An event that asks for nothing is named and costs no request, nor does one that cannot be read, or an input that is refused.
func TestDoctorOfAnIdleJobAsksNothing(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	before := r.github.Requests("")
	r.event("issues", labelEvent("bug"))
	rows := r.probed(0, "--actions")
	says(t, rows["event"], doctor.Skipped, "sets no label that asks for work")
	says(t, rows["github"], doctor.Skipped, "no request is sent")
	if got := r.github.Requests(""); got != before {
		t.Errorf("%d requests", got-before)
	}
	r.event("issues", "{")
	rows = r.probed(0, "--actions")
	says(t, rows["event"], doctor.Failed, "is not the JSON of an event", "init --actions")
	says(t, rows["github"], doctor.Skipped, "the event is refused, so no request is sent")
	r.event("issues", labelEvent("agentmux"))
	r.setEnv(job.InputPrefix+"MAX_TIME", "soon")
	rows = r.probed(0, "--actions")
	says(t, rows["inputs"], doctor.Failed, "max-time: expected a duration")
	says(t, rows["github"], doctor.Skipped, "the inputs are refused, so no request is sent")
	says(t, rows["runner"], doctor.Skipped, "RUNNER_ENVIRONMENT is not set")
	if got := r.github.Requests(""); got != before {
		t.Errorf("%d requests", got-before)
	}
}

// A shell between the runner and the program is named; what servers and programs say is not a command to
// the runner.
func TestDoctorSeesTheShellOfAStep(t *testing.T) {
	t.Parallel()
	r := newRunner(t, rigOptions{})
	r.event("issues", labelEvent("agentmux"))
	own, err := unraced()
	if err != nil {
		t.Fatal(err)
	}
	run := func(script string) (said, all string) {
		file := filepath.Join(r.dir, "step.sh")
		r.write(file, script)
		cmd := exec.Command("bash", file)
		cmd.Dir, cmd.Env = r.dir, append(slices.Clone(r.env), "AGENTMUX="+own)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs // that GitHub is waited for is on the other stream
		_ = cmd.Run()
		return out.String(), out.String() + "\n" + errs.String()
	}
	for script, state := range map[string]string{
		"\"$AGENTMUX\" doctor --actions --json\ntrue\n": doctor.Warning,
		"exec \"$AGENTMUX\" doctor --actions --json\n":  doctor.OK,
	} {
		out, _ := run(script)
		var list []doctor.Probe
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		i := slices.IndexFunc(list, func(p doctor.Probe) bool { return p.Name == "exec" })
		says(t, list[i:i+1], state)
	}
	r.setEnv("GITHUB_EVENT_PATH", "\n::error::said by others\n")
	_, out := run("exec \"$AGENTMUX\" doctor --actions\n")
	if got := runlog.Commands(out); len(got) > 0 || !strings.Contains(out, "said by others") {
		t.Errorf("heard %q in\n%s", got, out)
	}
}

// In a clone doctor says what a job would need.
func TestDoctorProbesACloneForJobs(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	rows := r.probed(3, "--actions")
	says(t, rows["event"], doctor.Skipped, "not in a job")
	says(t, rows["workflow"], doctor.Failed, "agentmux init --actions --write")
	says(t, rows["clone"], doctor.OK)
	r.expect(0, "init", "--actions", "--write")
	says(t, r.probed(3, "--actions")["workflow"], doctor.Failed, "which commit of agentmux")
	file := filepath.Join(r.clone, ".github", "workflows", "agentmux.yml")
	r.write(file, strings.ReplaceAll(r.read(file), doctor.UnknownCommit, strings.Repeat("ab", 20)))
	says(t, r.probed(0, "--actions")["workflow"], doctor.OK)
	r.expect(0, "init", "--actions", "--check")
	r.expect(2, "doctor", "--actions", "--repo", rigRepo)
}

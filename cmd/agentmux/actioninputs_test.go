package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/job"
	"github.com/agentmux/agentmux/ghsync/fakehub/runlog"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// The inputs change the session: the file of the runner's owner is its configuration, with what only such a file may set, as the
// program of the agents; max-time and comments are those of the session, and nothing of it is saved on the server. A file
// that is kept holds no secret.
func TestActionInputsTakeEffect(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRunner(t, rigOptions{})
	token := ""
	for _, v := range r.env {
		if name, value, _ := strings.Cut(v, "="); name == "GITHUB_TOKEN" {
			token = value
		}
	}
	playbook := strings.Replace(quickPlaybook, "summary: Fine.", "summary: Fine, with "+token+" in it.", 1)
	r.write(filepath.Join(r.dir, "playbook.yaml"), playbook)
	owners := filepath.Join(r.dir, "owners.yaml")
	if err := os.Rename(r.ownConfig(), owners); err != nil {
		t.Fatal(err)
	}
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	code, log := r.step("run", "ISSUE=1", job.InputPrefix+"CONFIG="+owners, job.InputPrefix+"MAX_TIME=5h", job.InputPrefix+"COMMENTS=quiet", job.InputPrefix+"CHECKPOINT=false")
	got := r.result()
	if code != 0 || got.PRNumber == 0 || len(r.savedOnes()) != 0 {
		t.Fatalf("exit %d, result %+v, saved %q\n%s", code, got, r.savedOnes(), log)
	}
	entries := managedSessions(t, filepath.Join(r.temp, "agentmux", "state"))
	if len(entries) != 1 || entries[0].State.Settings.LimitTotal != orchestrator.Duration(5*time.Hour) {
		t.Fatalf("sessions %+v", entries)
	}
	if comments := r.github.Repo(rigRepo).Comments(1); len(comments) != 1 {
		t.Errorf("%d comments", len(comments))
	}
	kept, err := filepath.Glob(filepath.Join(r.temp, "agentmux", "artifact", "07_review", "*.yaml"))
	if err != nil || len(kept) == 0 {
		t.Fatalf("kept %q, %v", kept, err)
	}
	for _, file := range kept {
		if text := r.read(file); strings.Contains(text, token) || !strings.Contains(text, "Fine, with [redacted") {
			t.Errorf("%s holds %q", file, text)
		}
	}
}

// An agent that fails is a warning on the page of the run.
func TestJobWarnsOfAFailedAgent(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	fails := strings.Replace(quickPlaybook, "      - write: {file: a.txt, text: \"two\\n\"}\n      - submit: {tool: submit_done, with: {subplan_index: 1}}\n", "      - exit: 3\n", 1)
	r := newRunner(t, rigOptions{playbook: fails})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	r.event("issues", labelEvent("agentmux:quick"))
	ran := r.agentmux("issue", "1", "--headless")
	if said := runlog.Annotations(ran.out, "warning"); !strings.Contains(said["implementing"], "coder") {
		t.Errorf("exit %d, warnings %q\n%s", ran.code, said, ran.out)
	}
}

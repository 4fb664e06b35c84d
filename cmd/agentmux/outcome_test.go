package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/outcome"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// resultOf reads what a run left in the directory of its session for programs.
func (r *rig) resultOf(e session.Entry) outcome.Result {
	r.t.Helper()
	result, err := outcome.Read(filepath.Join(e.Dir, outcome.File))
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// A run without a person leaves in its session how it ended.
func TestAHeadlessRunLeavesItsResult(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.expect(exit.Done, append([]string{"run", "Say two", "--name", "two"}, quickRun...)...)
	e := r.session()
	got := r.resultOf(e)
	if got.Version != 1 || got.Outcome != "done" || got.ExitCode != exit.Done || !strings.HasPrefix(got.Session, "two") || got.Branch != e.State.FeatureBranch ||
		got.HeadSHA != e.State.Completion.Commit || got.HeadSHA == "" || got.Verdict != "pass" || len(got.Verdicts) == 0 || len(got.Phases) == 0 || got.Workflow != "quick" {
		t.Errorf("%+v", got)
	}
}

// The result of an earlier run does not stay for the one of this run: a run that is killed leaves none.
func TestAResultIsOfTheLastRun(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: "version: 1\nagents:\n  - steps:\n      - hang: true\n"})
	b := r.background(append([]string{"run", "Say two", "--name", "two"}, quickRun...)...)
	e := r.atWork("planner")
	b.exit(syscall.SIGINT)
	if got := r.resultOf(e); got.Outcome != "canceled" || got.ExitCode != exit.Canceled {
		t.Errorf("after an interrupt: %+v", got)
	}
	b = r.background("resume", "two", "--headless")
	r.atWork("planner")
	if _, err := os.Lstat(filepath.Join(e.Dir, outcome.File)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("while the next one runs: %v", err)
	}
	b.exit(syscall.SIGINT)
}

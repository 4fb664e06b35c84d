package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// edit changes the state of a session on the shelf.
func (s *shelf) edit(dir string, change func(*orchestrator.State)) {
	s.t.Helper()
	file := filepath.Join(dir, session.StateFile)
	st, err := orchestrator.Decode([]byte(s.read(file)))
	if err != nil {
		s.t.Fatal(err)
	}
	change(st)
	data, err := st.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(file, string(data))
}

// A stopped session can continue: clean leaves it, and says how to remove it all the same.
func TestCleanLeavesWhatCanContinue(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put("ended", orchestrator.PhaseDone, 300, 1)
	s.edit(s.put("stopped", orchestrator.PhaseFailed, 300, 1), func(st *orchestrator.State) {
		st.Outcome, st.LastEvent, st.InterruptedPhase = orchestrator.OutcomeCanceled, orchestrator.LastRunCanceled, "implementing"
	})
	out := s.expect(exit.Done, "clean", "--force")
	if !strings.Contains(out.err, "stopped stays: it was stopped and can continue; agentmux resume stopped continues it, --canceled removes it") || s.names() != "stopped" {
		t.Errorf("left %s: %s", s.names(), out.err)
	}
	s.expect(exit.Done, "clean", "--force", "--canceled")
	if s.names() != "" {
		t.Errorf("left %s", s.names())
	}
}

// The state keeps the work of a fix round among the subplans, but it is not a subplan of the plan.
func TestStatusShowsNoSubplanOfAFix(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.edit(s.put("one", "fixing", 1, 1), func(st *orchestrator.State) {
		st.SubplanStatus = map[string]string{"1": orchestrator.SubplanDone, orchestrator.FixTask: orchestrator.SubplanRunning}
	})
	var shown struct {
		Subplans map[string]string `json:"subplans"`
	}
	if err := json.Unmarshal([]byte(s.expect(exit.Done, "status", "one", "--json").out), &shown); err != nil || len(shown.Subplans) != 1 || shown.Subplans["1"] == "" {
		t.Errorf("%+v, %v", shown, err)
	}
}

// A bare resume means the session that is there: one that runs is locked, not missing.
func TestABareResumeOfARunningSession(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.lock(s.put("one", "implementing", 1, 1))
	if out := s.expect(exit.Locked, "resume"); !strings.Contains(out.err, "agentmux attach one") {
		t.Error(out.err)
	}
}

// An unread stop ends the next resume, and the person is told before.
func TestAnUnreadStopIsTold(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	dir := s.put("one", "implementing", 1, 1)
	s.write(filepath.Join(dir, session.Commands), `{"tool":"command","payload":{"name":"stop","actor":"mia","source":"cli"}}`+"\n")
	if out := s.agentmux("resume", "one", "--headless"); !strings.Contains(out.err, "a stop of mia was recorded and not read: it is applied first") {
		t.Error(out.err)
	}
}

// The files of a session are text: a project whose path is not UTF-8 is refused before anything
// is made in it.
func TestAProjectWhosePathIsNotUTF8IsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	dir := filepath.Join(r.dir, "caf\xe9")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return // a file system that takes no such name
	}
	r.git(dir, "init", "-q")
	cmd := r.command("run", "Say two", "--headless")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exit.BadUsage || !strings.Contains(string(out), `caf\xe9", is not UTF-8`) {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Lstat(filepath.Join(dir, ".agentmux")); err == nil {
		t.Error("something was made")
	}
}

// A branch in the way of those of sessions is told before a session is made, with what to do.
func TestABranchInTheWayIsAMatterOfTheClone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "github: {push: false}\n"})
	r.git(r.clone, "branch", "agentmux")
	for _, more := range [][]string{quickRun, {"--dry-run"}} {
		args := append([]string{"run", "Say two"}, more...)
		if res := r.expect(exit.BadUsage, args...); !strings.HasPrefix(res.err, "agentmux: branch agentmux/say-two cannot be made beside the branch agentmux; rename that one") {
			t.Errorf("%v: %s", args, res.err)
		}
	}
	if n := len(r.sessions()); n > 0 {
		t.Errorf("%d sessions", n)
	}
}

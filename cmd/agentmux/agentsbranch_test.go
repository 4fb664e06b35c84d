package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/team"
	"github.com/agentmux/agentmux/internal/testfull"
)

// A branch that moves while its agent works stays as it is. The run and its status tell where the work is instead.
func TestProtocolM5ABranchThatMovedIsTold(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	playbook := strings.Replace(teamPlaybook, "      - submit: {tool: submit_done}\n", "      - hang: true\n", 1)
	r := newRig(t, rigOptions{playbook: playbook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile)
	b := r.background("agents", "start", "--yes", "--headless")
	r.atWork("build")
	r.eventually("words has written", func() bool {
		_, err := os.Lstat(filepath.Join(r.dir, "shop-words", "words.txt"))
		return err == nil
	}, b.out.String)
	mine := r.git(r.clone, "commit-tree", "-m", "Mine", "-p", "HEAD", "HEAD^{tree}")
	r.git(r.clone, "update-ref", "refs/heads/feature/words", mine)
	r.expect(exit.Done, "agents", "done", "words")
	b.over()
	if code := b.cmd.ProcessState.ExitCode(); code != exit.Done {
		t.Fatalf("exit code %d: %s", code, b.out.String())
	}

	if got := r.git(r.clone, "rev-parse", "feature/words"); got != mine {
		t.Errorf("feature/words is at %s", got)
	}
	if got := r.git(r.clone, "show", "feature/greeting:words.txt") + r.git(r.clone, "rev-parse", "feature/greeting^"); got != "hello"+r.git(r.clone, "rev-parse", "feature/words-2") {
		t.Errorf("feature/greeting is on %q", got)
	}
	const told = "words: the branch feature/words has moved or is checked out; the work is on feature/words-2\n"
	if out := b.out.String(); strings.Count(out, told) != 1 || strings.Contains(out, "the branch feature/greeting has moved") {
		t.Errorf("the run does not tell that once:\n%s", out)
	}
	if out := r.expect(exit.Done, "agents", "status").out; strings.Count(out, "\n"+told) != 1 || strings.Contains(out, "the branch feature/greeting has moved") {
		t.Errorf("status:\n%s", out)
	}
	var status team.StatusJSON
	if err := json.Unmarshal([]byte(r.expect(exit.Done, "agents", "status", "--json").out), &status); err != nil || len(status.Agents) != 2 {
		t.Fatalf("status %+v, %v", status, err)
	}
	if m, other := status.Agents[0], status.Agents[1]; m.Branch != "feature/words-2" || m.Instead != "feature/words" || other.Branch != "feature/greeting" || other.Instead != "" {
		t.Errorf("status %+v, %+v", m, other)
	}
}

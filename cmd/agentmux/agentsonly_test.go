package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/testfull"
)

// --only takes an agent with those that it needs and no other, the start shows them, and a cleanup gives up the work of the
// agent that --discard names and keeps that of the other one.
func TestAgentsStartOnlyAndCleanupDiscard(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: teamPlaybook, config: "sandbox: {unsafe_flags: true}\n"})
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), teamFile+"  - name: other\n    branch: feature/other\n    task: Write what nobody waits for\n")
	out := r.expect(exit.Done, "agents", "start", "--yes", "--headless", "--only", "greeting").out
	for _, line := range []string{
		`SESSION +shop`, `WORKTREE BASE +` + regexp.QuoteMeta(r.dir), `MAIN PANE +no`, `AGENT +BRANCH +ROLE +PROVIDER +AUTO +DEPENDS ON`,
		`words +feature/words +build +script +no +-`, `greeting +feature/greeting +build +script +no +words`, `2 worktrees, 0 review agents`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + ` *$`).MatchString(out) {
			t.Errorf("no line %s in\n%s", line, out)
		}
	}
	if strings.Contains(out, "other") || strings.Contains(r.git(r.clone, "branch", "--list"), "feature/other") {
		t.Errorf("an agent that nobody asked for is started:\n%s", out)
	}

	for _, name := range []string{"words", "greeting"} {
		r.write(filepath.Join(r.dir, "shop-"+name, "late.txt"), "late, of "+name+"\n")
	}
	res := r.expect(exit.Done, "agents", "cleanup", "--discard", "words")
	kept := regexp.MustCompile(`git fetch (\S+) (refs/agentmux/preserved/\S+)`).FindAllStringSubmatch(res.err, -1)
	if len(kept) != 1 {
		t.Fatalf("kept: %q", res.err)
	}
	if got := r.git(r.clone, "--git-dir", kept[0][1], "show", kept[0][2]+":late.txt"); got != "late, of greeting" {
		t.Errorf("kept: %q", got)
	}
}

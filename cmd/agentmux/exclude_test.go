package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A path that is to be left out and is not there is refused before anything is recorded:
// otherwise the file that was meant would be committed.
func TestApproveRefusesToLeaveOutWhatIsNotThere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	playbook := strings.Replace(quickPlaybook, `      - write: {file: a.txt, text: "two\n"}
`, `      - write: {file: a.txt, text: "two\n"}
      - write: {file: tmp/notes.txt, text: "mine\n"}
`, 1)
	r := newRig(t, rigOptions{playbook: playbook, config: "approval: {completion: true}\nlimits: {human_wait: 1s}\n"})
	r.expect(3, append(issueRun, "--name", "one")...)
	for path, want := range map[string]string{
		"tmp/note.txt":    `--exclude: the commit holds no file "tmp/note.txt"; did you mean tmp/notes.txt?`,
		"notes.txt":       "did you mean tmp/notes.txt?",
		"./tmp/notes.txt": "did you mean tmp/notes.txt?",
		"tmp/":            "name each file of that directory: tmp/notes.txt",
		"elsewhere/x.go":  "it holds a.txt, tmp/notes.txt",
	} {
		r.row(path, func(t *testing.T) {
			if res := r.expect(2, "approve", "one", "--exclude", "tmp/notes.txt", "--exclude", path); !strings.Contains(res.err, want) {
				t.Errorf("%s: it does not say %q:\n%s", path, want, res.err)
			}
		})
	}
	if recorded, err := os.ReadFile(filepath.Join(r.session().Dir, session.Commands)); len(recorded) > 0 {
		t.Errorf("what was refused is recorded: %s%v", recorded, err)
	}
	r.expect(0, "approve", "one", "--exclude", "tmp/notes.txt")
	r.expect(0, "resume", "one", "--headless")
	e := r.session()
	r.done(e)
	if got := r.git(r.clone, "ls-remote", "origin", "refs/heads/"+e.State.FeatureBranch); got == "" {
		t.Fatal("no branch")
	}
	r.git(r.clone, "fetch", "--quiet", "origin", e.State.FeatureBranch)
	if files := r.git(r.clone, "diff", "--name-only", "origin/main", "FETCH_HEAD"); files != "a.txt" {
		t.Errorf("committed: %s", files)
	}
}

// At the gate of the plan there is nothing to leave out.
func TestApproveOfAPlanTakesNoPaths(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "approval: {plan: true}\nlimits: {human_wait: 1s}\n"})
	r.expect(3, append(issueRun, "--name", "one")...)
	if res := r.expect(2, "approve", "one", "--exclude", "a.txt"); !strings.Contains(res.err, "one asks about its plan, there is nothing to commit yet") {
		t.Errorf("it says %s", res.err)
	}
}

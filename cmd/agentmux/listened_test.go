package main

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// earPlaybook is heldPlaybook with a planner that asks first.
var earPlaybook = strings.Replace(heldPlaybook, "  - role: planner\n    steps:\n", `  - role: planner
    attempt: 1
    steps:
      - submit: {tool: ask_human, with: {question: "Which of the two?", options: [a, b]}}
  - role: planner
    steps:
      - expect: "Answer: b"
`, 1)

// receipts are the reactions of the program to a comment.
func (r *rig) receipts(id int64) string {
	for _, c := range r.github.Repo(rigRepo).Comments(1) {
		if c.ID == id {
			return strings.ReplaceAll(strings.Join(c.Reactions, " "), rigBot+" ", "")
		}
	}
	return "no comment"
}

// says reports whether the program says a text on the issue.
func (r *rig) says(text string) bool {
	return slices.ContainsFunc(r.github.Repo(rigRepo).Comments(1), func(c fakehub.CommentView) bool {
		return c.Author == rigBot && strings.Contains(c.Body, text)
	})
}

// commented writes a comment and waits for its receipts.
func (r *rig) commented(body, receipts string) {
	r.t.Helper()
	id := r.github.Repo(rigRepo).Comment(1, body, rigOwner)
	r.eventually(body+" has "+receipts, func() bool { return r.receipts(id) == receipts }, func() string { return r.receipts(id) })
}

// Case 54: a command at a terminal hears the comments of its issue while agents work, and the status
// comment tells what became of each.
func TestGitHub54ACommandHearsTheCommentsOfItsIssue(t *testing.T) {
	t.Parallel()
	testfull.Only(t) // waits for three looks, ear.PollEvery each
	r := newRig(t, rigOptions{playbook: earPlaybook})
	host := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.eventually("the planner asks", func() bool { return r.says("Reply: `/agentmux answer q1 <number or text>`") }, host.out.String)
	r.commented("/agentmux answer 2", "eyes +1")
	r.atWork("coder")
	say := r.github.Repo(rigRepo).Comment(1, "/agentmux say coder keep the old flag", rigOwner)
	r.commented("/agentmux stop", "eyes +1")
	host.over()
	if code := host.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d\n%s", code, host.out.String())
	}
	if got := r.receipts(say); got != "eyes -1" {
		t.Errorf("what the coder never read has %q", got)
	}
	for _, want := range []string{"| `" + rigOwner + "` | answer | ✅ applied |", "| `" + rigOwner + "` | stop | ✅ applied |", "| `" + rigOwner + "` | say coder-1 | "} {
		if !r.says(want) {
			t.Errorf("the issue does not say %q:\n%+v", want, r.github.Repo(rigRepo).Comments(1))
		}
	}
	if e := r.session(); e.State.Outcome != orchestrator.OutcomeCanceled {
		t.Errorf("outcome %q", e.State.Outcome)
	}
	if left := r.ourRefs(); len(left) > 0 {
		t.Errorf("left on the server: %v", left)
	}
}

// Case 82: what is said while a command ends is read after the claim was given back, and the command
// continues with it.
func TestGitHub82ACommandReadsTheCommentsOnceMore(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	host := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.eventually("there is a pull request", func() bool { return len(r.github.Repo(rigRepo).Pulls()) == 1 }, host.out.String)
	r.github.Inject(fakehub.Unavailable("POST .../issues/{number}/comments", 503, 0), fakehub.Unavailable("PATCH .../issues/comments/{id}", 503, 0))
	r.eventually("the session is done", func() bool { return r.session().State.Outcome == orchestrator.OutcomeDone }, host.out.String)
	r.write(r.dir+"/playbook.yaml", strings.ReplaceAll(quickPlaybook, `"two\n"`, `"three\n"`))
	id := r.github.Repo(rigRepo).Comment(1, "/agentmux changes say three", rigOwner)
	r.github.Heal()
	r.asked.Add(1) // a further round
	host.over()
	if code := host.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d\n%s", code, host.out.String())
	}
	e := r.session()
	if got := r.receipts(id); got != "eyes +1" || e.State.Outcome != orchestrator.OutcomeDone {
		t.Errorf("receipts %q, outcome %q\n%s", got, e.State.Outcome, host.out.String())
	}
	if got, _ := r.github.Repo(rigRepo).File(e.State.FeatureBranch, "a.txt"); got != "three\n" {
		t.Errorf("a.txt is %q", got)
	}
	if left := r.ourRefs(); len(left) > 0 {
		t.Errorf("left on the server: %v", left)
	}
}

// earDirs are the directories in which an ear keeps what it heard in the repository.
func (r *rig) earDirs() (list []string) {
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasSuffix(path, "/"+rigRepo) {
			list = append(list, path)
		}
		return nil //nolint:nilerr // what is removed meanwhile is nowhere
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// A session that is not shown on its issue hears its comments, too: its receipts are all that it writes there. One whose person
// wants nothing on the issue reads none.
func TestACommandHearsCommentsWithoutAMirror(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, quiet := range map[string]bool{"mirror off": false, "no mirror, said the person": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{playbook: heldPlaybook, config: "github: {mirror: off}\n"})
			args := append([]string{"issue", "1"}, quickRun...)
			if quiet {
				args = append(args, "--no-mirror")
			}
			host := r.background(args...)
			r.atWork("coder")
			if quiet {
				id := r.github.Repo(rigRepo).Comment(1, "/agentmux stop", rigOwner)
				r.expect(0, "stop")
				if got := r.receipts(id); got != "" {
					t.Errorf("receipts %q", got)
				}
			} else {
				r.commented("/agentmux stop", "eyes +1")
			}
			host.over()
			if code := host.cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit %d\n%s", code, host.out.String())
			}
			if got := len(r.earDirs()) > 0; got == quiet {
				t.Errorf("an ear was there: %v", got)
			}
			if r.says("") {
				t.Errorf("it writes on the issue: %+v", r.github.Repo(rigRepo).Comments(1))
			}
		})
	}
}

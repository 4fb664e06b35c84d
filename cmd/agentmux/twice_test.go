package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// An issue whose pull request is open gets no second one without a word, from whichever clone.
func TestAnIssueGetsOnePullRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	run := append([]string{"issue", "1"}, quickRun...)
	r.expect(0, run...)
	pull := r.github.Repo(rigRepo).Pulls()[0]
	want := "acme/widgets#1 has the open pull request #2, " + r.github.URL() + "/acme/widgets/pull/2; agentmux resume '#1' --changes \"...\""
	first := r.clone
	for _, clone := range []string{first, filepath.Join(r.dir, "second")} {
		if clone != first {
			r.git(r.dir, "clone", "-q", r.github.CloneURL(rigRepo), clone)
			r.clone = clone
		}
		if res := r.expect(2, run...); !strings.Contains(res.err, want) || !strings.Contains(res.err, "--new") {
			t.Errorf("%s: %s", clone, res.err)
		}
	}
	if n := len(r.sessions()); n != 0 {
		t.Errorf("%d sessions in the second clone", n)
	}
	r.clone = first
	r.expect(0, append(run, "--new")...)
	if pulls := r.github.Repo(rigRepo).Pulls(); len(pulls) != 2 || pulls[0].Number != pull.Number {
		t.Errorf("pull requests %+v", pulls)
	}
}

// A session that was stopped is not continued for its issue beside the pull request that another clone opened meanwhile, nor one
// that lost its issue, unless that is asked for.
func TestAStoppedSessionIsNotContinuedBesideAPullRequest(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	run := append([]string{"issue", "1"}, quickRun...)
	first := r.background(run...)
	e := r.atWork("coder")
	if code := first.exit(syscall.SIGINT); code != 130 {
		t.Fatalf("exit %d\n%s", code, first.out.String())
	}
	other := r.elsewhere(rigOptions{playbook: quickPlaybook})
	other.expect(0, append(run[:len(run):len(run)], "--new")...)
	want := "acme/widgets#1 has the open pull request #2, " + r.github.URL() + "/acme/widgets/pull/2"
	file := filepath.Join(e.Dir, session.StateFile)
	lost, err := orchestrator.Decode([]byte(r.read(file)))
	if err != nil {
		t.Fatal(err)
	}
	lost.OutcomeReason = orchestrator.ReasonClaimLost
	text, err := lost.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{run, {"resume", e.Name, "--headless"}} {
		if res := r.expect(2, args...); !strings.Contains(res.err, want) || !strings.Contains(res.err, "agentmux resume "+e.Name+" --take") {
			t.Errorf("%v: %s", args, res.err)
		}
		r.write(file, string(text))
	}
	r.write(filepath.Join(r.dir, "playbook.yaml"), quickPlaybook)
	r.expect(0, "resume", e.Name, "--take", "--headless")
	if n := len(r.github.Repo(rigRepo).Pulls()); n != 2 {
		t.Errorf("%d pull requests", n)
	}
}

// A label of a session at work elsewhere stops the start, and says who is at work.
func TestAnIssueThatIsWorkedOnElsewhere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:running", rigBot)
	repo.Comment(1, "### agentmux: planning\nSandbox none, config: `4e1f9c2`, host `h_5f3c9a0b11d2e4f7`\n\n<!-- agentmux session=20261121-100512-x kind=status seq=3 -->", rigBot)
	repo.Comment(1, "host `h_0000000000000000`\n\n<!-- agentmux session=forged kind=status seq=3 -->", rigOwner)
	run := append([]string{"issue", "1"}, quickRun...)
	for _, args := range [][]string{run, append(run, "--new")} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			if res := r.expect(4, args...); !strings.Contains(res.err, "acme/widgets#1 has the label agentmux:running: host h_5f3c9a0b11d2e4f7 works on it, session 20261121-100512-x, last shown at ") ||
				!strings.Contains(res.err, "--take starts here") {
				t.Errorf("%v: %s", args, res.err)
			}
		})
	}
	r.expect(0, "issue", "1", "--dry-run")
	if n := len(r.sessions()); n != 0 {
		t.Errorf("%d sessions", n)
	}
	r.expect(0, append(run, "--take")...)
	r.done(r.session())
}

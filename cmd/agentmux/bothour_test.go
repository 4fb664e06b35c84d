package main

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// GitHub is away for an hour, for git too, while an agent works and a request waits for its slot. The agent hands in
// meanwhile, and people ask for more. When GitHub is back all of it is carried out, each thing once.
func TestGitHub52AnHourWithoutGitHub(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	var late atomic.Int64
	gate, ahead := filepath.Join(t.TempDir(), "go"), filepath.Join(t.TempDir(), "ahead")
	r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig + unpaced, github: fakehub.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) },
	}})
	r.setEnv(aheadEnv, ahead)
	repo := r.github.Repo(rigRepo)
	for _, title := range []string{"Say two, later", "Say two, in the outage"} {
		repo.AddIssue(fakehub.IssueSpec{Title: title, Body: "It should say two.\n", Author: rigOwner})
	}
	b := r.background("bot", "--max", "1")
	repo.Label(1, "agentmux:quick", rigOwner)
	r.eventually("the coder is at work", func() bool { return r.coderAtWork(rigRepo) && r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
	repo.Label(2, "agentmux:quick", rigOwner)
	r.eventually("another request waits", func() bool {
		return r.hasLabel(rigRepo, 2, "agentmux:queued") && !r.hasLabel(rigRepo, 2, "agentmux:quick")
	}, b.out.String)

	r.github.Inject(fakehub.Unavailable("", 503, 0))
	late.Store(int64(time.Hour))
	r.write(ahead, "1h")
	stop := repo.Comment(2, "/agentmux stop", rigOwner)
	repo.Label(3, "agentmux:quick", rigOwner)
	r.write(gate, "")
	r.eventually("the work is handed in, and what follows is owed", func() bool {
		s := r.served(rigRepo)[0].State
		return len(s.Pending) > 0 && s.Completion.Commit != ""
	}, b.out.String)
	if n := len(repo.Pulls()); n != 0 {
		t.Errorf("%d pull requests while GitHub is away", n)
	}
	r.github.Heal()
	back := time.Now()
	r.eventually("the first request is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
	t.Logf("right %s after GitHub is back", time.Since(back).Round(time.Second))
	r.eventually("the ticket is dropped, and the request of the outage is done", func() bool {
		return len(repo.Issue(2).Labels) == 0 && r.isDone(rigRepo, 3) && len(r.claims()) == 0 &&
			slices.Contains(r.reactions(rigRepo, 2, stop), rigBot+" +1")
	}, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	entries := slices.DeleteFunc(r.served(rigRepo), func(e session.Entry) bool {
		return e.State.IssueNumber == 2 && e.State.Outcome == orchestrator.OutcomeCanceled // the slot was free before the stop was heard
	})
	for _, e := range entries {
		r.sound(e)
		if e.State.Outcome != orchestrator.OutcomeDone || e.State.Completion.PRNumber == 0 {
			t.Errorf("issue %d: %s %s, %s", e.State.IssueNumber, e.State.Outcome, e.State.OutcomeReason, e.State.Cause)
		}
	}
	if len(entries) != 2 || len(repo.Pulls()) != 2 {
		t.Errorf("%d sessions and %d pull requests, want 2 of each", len(entries), len(repo.Pulls()))
	}
	for issue := 1; issue <= 3; issue++ {
		if n := strings.Count(strings.Join(r.told(rigRepo, issue), "\n"), "kind=status"); n != 1 {
			t.Errorf("issue %d has %d status comments", issue, n)
		}
	}
	r.github.Check(t)
}

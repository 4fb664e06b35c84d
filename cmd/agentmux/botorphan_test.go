package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// A request that waited in the queue of a machine that is gone is taken over by the next bot without a
// person: once, with the workflow that the label named, and in the same comment.
func TestBotTakesOverTheQueueOfAHostThatIsGone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	o := rigOptions{playbook: quickPlaybook, unlabel: true, config: botConfig}
	first := newRig(t, o)
	repo := first.github.Repo(rigRepo)
	state := filepath.Join(first.dir, "home", ".local", "state", "agentmux")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "PAUSED"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := first.background("bot")
	repo.Label(1, "agentmux:quick", rigOwner)
	first.eventually("the request waits", func() bool {
		return first.hasLabel(rigRepo, 1, "agentmux:queued") && !first.hasLabel(rigRepo, 1, "agentmux:quick") && len(first.told(rigRepo, 1)) == 1
	}, gone.out.String)
	gone.exit(syscall.SIGKILL)
	first.asJob("a_999_1")

	second := first.elsewhere(o)
	b := second.background("bot")
	second.eventually("the request is carried out", func() bool { return second.isDone(rigRepo, 1) }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	entries := second.served(rigRepo)
	if len(entries) != 1 || len(first.served(rigRepo)) != 0 {
		t.Fatalf("%d sessions, and %d of the host that is gone", len(entries), len(first.served(rigRepo)))
	}
	second.done(entries[0])
	if got := entries[0].State.Workflow; got != "quick" {
		t.Errorf("workflow %s", got)
	}
	if told := second.told(rigRepo, 1); len(told) != 3 || !strings.Contains(told[0], "agentmux: done") {
		t.Errorf("comments: %q", told)
	}
	if n := len(repo.Pulls()); n != 1 {
		t.Errorf("%d pull requests", n)
	}
}

// asJob has a job, whose run the server does not know, hold what the host of the claim of the issue
// holds: a host that is seen to be gone at once.
func (r *rig) asJob(id string) {
	r.t.Helper()
	ctx := context.WithoutCancel(r.t.Context())
	token := r.github.Token(rigBot)
	store, err := claim.OpenStore(ctx, r.t.TempDir())
	if err != nil {
		r.t.Fatal(err)
	}
	desk := func(host claim.HostID) claim.Desk {
		return claim.NewRemote(claim.Options{
			Repo:  remote.Repository{URL: r.github.CloneURL(rigRepo), Secret: func(context.Context) (string, error) { return token, nil }},
			Store: store, RepoID: r.github.Repo(rigRepo).ID(), Host: host,
		})
	}
	job, err := claim.ParseHostID(id)
	if err != nil {
		r.t.Fatal(err)
	}
	all, err := desk(job).Look(ctx)
	if err != nil || len(all) == 0 {
		r.t.Fatalf("%+v, %v", all, err)
	}
	for _, seen := range all {
		if seen.Problem != nil {
			r.t.Fatal(seen.Problem)
		}
		was := seen.Claim
		former := desk(was.Host)
		left, err := former.Leftovers(ctx)
		i := slices.IndexFunc(left, func(c claim.Seen) bool { return c.Issue == seen.Issue })
		if err != nil || i < 0 {
			r.t.Fatalf("%+v, %v", left, err)
		}
		held, err := former.Adopt(left[i])
		if err == nil {
			err = held.Release(ctx)
		}
		if err == nil {
			_, err = desk(job).Take(ctx, claim.Want{Issue: was.Issue, Session: was.Session, Trigger: was.Trigger, State: was.State})
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// A bot whose claim is made only after another host has served the request gives it back and begins nothing.
func TestGitHub36ABotThatClaimsTooLateBeginsNothing(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{unlabel: true, config: botConfig})
	repo, claimed := r.github.Repo(rigRepo), make(chan struct{})
	r.github.Inject(fakehub.Fault{Route: "GIT push", Times: 1, Hold: claimed})
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.eventually("the claim is on its way", func() bool { return r.github.Hits() > 0 }, b.out.String)
	repo.Unlabel(1, "agentmux:quick", rigOwner)
	close(claimed)
	r.eventually("it is given back", func() bool {
		return strings.Contains(b.out.String(), "another host was first") && repo.Refs()["refs/agentmux/claims/1"] == ""
	}, b.out.String)
	if told, entries := r.told(rigRepo, 1), r.served(rigRepo); len(told) > 0 || len(entries) > 0 {
		t.Errorf("%d comments, %d sessions", len(told), len(entries))
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

// A command whose claim is made only after another host has served the label that it found begins nothing.
func TestGitHub36ACommandThatClaimsTooLateBeginsNothing(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo, claimed := r.github.Repo(rigRepo), make(chan struct{})
	r.github.Inject(fakehub.Fault{Route: "GIT push", Times: 1, Hold: claimed})
	host := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.eventually("the claim is on its way", func() bool { return r.github.Hits() > 0 }, host.out.String)
	repo.Label(1, "agentmux:done", rigBot)
	repo.Unlabel(1, "agentmux", rigBot)
	close(claimed)
	host.over()
	e := r.session()
	if code := host.cmd.ProcessState.ExitCode(); code != 4 || e.State.OutcomeReason != orchestrator.ReasonClaimLost || r.recorded(e, orchestrator.EvAgentStarted, "") {
		t.Errorf("exit %d, %s for %s\n%s", code, e.State.Outcome, e.State.OutcomeReason, host.out.String())
	}
	if !strings.Contains(host.out.String(), "another host has served acme/widgets#1") {
		t.Errorf("said: %s", host.out.String())
	}
	if left, told, pulls := r.ourRefs(), r.told(rigRepo, 1), repo.Pulls(); len(left) > 0 || len(told) > 0 || len(pulls) > 0 {
		t.Errorf("left %q, comments %q, %d pull requests", left, told, len(pulls))
	}
}

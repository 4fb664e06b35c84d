package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// The request label on the issue of a session that was stopped continues that session, which keeps its branch and its status
// comment; if the text of the issue was edited since, another one begins.
func TestALabelThatIsSetAgainContinuesTheSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	hears := strings.Replace(quickPlaybook, "      - write: {file: a.txt", "      - hear: keep the old flag\n      - write: {file: a.txt", 1)
	r := newRig(t, rigOptions{playbook: hears, unlabel: true, config: botConfig + "checkpoint: {remote: false}\n", github: fakehub.Options{}})
	repo := r.github.Repo(rigRepo)
	b := r.background("bot")
	works := func(n int) {
		repo.Label(1, "agentmux:quick", rigOwner)
		r.eventually("the coder works", func() bool {
			all := r.served(rigRepo)
			return len(all) == n && all[n-1].State != nil && !all[n-1].State.Ended() && all[n-1].State.Phase == "implementing" &&
				r.hasLabel(rigRepo, 1, "agentmux:running") && !r.hasLabel(rigRepo, 1, "agentmux:quick")
		}, b.out.String)
	}
	stop := func(n int) {
		r.said(b, 1, "/agentmux stop", "+1")
		r.eventually("the session has ended", func() bool { return r.served(rigRepo)[n-1].State.Ended() && len(r.claims()) == 0 }, b.out.String)
	}
	works(1)
	stop(1)
	works(1)
	stop(1)
	repo.EditIssue(1, rigOwner, nil, new("It should say two, please.\n"))
	works(2)
	r.said(b, 1, "/agentmux say coder keep the old flag", "+1")
	r.eventually("the other session is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
	if s := r.served(rigRepo); s[0].State.Outcome != orchestrator.OutcomeCanceled || s[0].State.ResumeCount == 0 || s[1].State.Outcome != orchestrator.OutcomeDone {
		t.Errorf("%s after %d resumes, %s", s[0].State.Outcome, s[0].State.ResumeCount, s[1].State.Outcome)
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

// The request label on the issue of a session that waits for an answer begins no other one: one comment says what the session
// takes, and the answer continues it.
func TestALabelBeginsNothingBesideASessionThatWaits(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: parkedPlaybook, unlabel: true, config: botConfig + parksSoon + "checkpoint: {remote: false}\n"})
	repo := r.github.Repo(rigRepo)
	b := r.background("bot")
	repo.Label(1, "agentmux:quick", rigOwner)
	r.eventually("the session waits", func() bool {
		all := r.served(rigRepo)
		return len(all) == 1 && all[0].State != nil && all[0].State.OutcomeReason == orchestrator.ReasonQuestion && len(r.claims()) == 0 &&
			r.hasLabel(rigRepo, 1, "agentmux:needs-human") && !r.hasLabel(rigRepo, 1, "agentmux:quick")
	}, b.out.String)
	repo.Label(1, "agentmux:quick", rigOwner)
	refused := func() (n int) {
		for _, body := range r.told(rigRepo, 1) {
			if strings.Contains(body, "session=refused-") && strings.Contains(body, "/agentmux answer TEXT") {
				n++
			}
		}
		return n
	}
	r.eventually("the label is off", func() bool { return refused() > 0 && !r.hasLabel(rigRepo, 1, "agentmux:quick") }, b.out.String)
	if !r.hasLabel(rigRepo, 1, "agentmux:needs-human") || len(r.served(rigRepo)) != 1 {
		t.Errorf("%d sessions", len(r.served(rigRepo)))
	}
	r.said(b, 1, "/agentmux answer 2", "+1")
	r.eventually("the session is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
	if all := r.served(rigRepo); len(all) != 1 || refused() != 1 || len(repo.Pulls()) != 1 {
		t.Errorf("%d sessions, %d refusals, %d pull requests", len(all), refused(), len(repo.Pulls()))
	}
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

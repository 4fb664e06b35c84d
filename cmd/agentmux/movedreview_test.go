package main

import (
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// againPlaybook is the coder of the first machine in a further round.
const againPlaybook = `version: 1
agents:
  - role: coder
    round: 1
    steps:
      - write: {file: a.txt, text: "again\n"}
      - submit: {tool: submit_done, with: {subplan_index: 1}}
`

// reviewed is a rig whose bot made a pull request, and the bots of another machine that never had its session.
type reviewed struct {
	*rig
	later *atomic.Int64 // by how many seconds the clock of the server was put forward
	repo  *fakehub.Repo
	pull  fakehub.PullView
	e     session.Entry
	bot   *background // of the first machine
}

func newReviewed(t *testing.T) *reviewed {
	t.Helper()
	w := &reviewed{later: &atomic.Int64{}}
	o := w.options("two")
	o.playbook = againPlaybook + strings.TrimPrefix(o.playbook, "version: 1\nagents:\n")
	w.rig = newRig(t, o)
	w.repo = w.github.Repo(rigRepo)
	w.repo.Label(1, "agentmux:quick", rigOwner)
	w.bot = w.background("bot")
	w.eventually("it is done", func() bool { return w.isDone(rigRepo, 1) && len(w.claims()) == 0 }, w.bot.out.String)
	w.pull, w.e = w.repo.Pulls()[0], w.served(rigRepo)[0]
	return w
}

// options are those of a machine whose coder writes a word.
func (w *reviewed) options(word string) rigOptions {
	return rigOptions{
		playbook: strings.ReplaceAll(quickPlaybook, `"two\n"`, `"`+word+`\n"`), unlabel: true, config: botConfig + "followup: {quiet: 1s}\n",
		github: fakehub.Options{Now: func() time.Time { return time.Now().Add(time.Duration(w.later.Load()-600) * time.Second) }},
	}
}

// says reports whether a.txt of the pull request holds a word, and the session rests.
func (w *reviewed) says(word string) bool {
	text, _ := w.repo.File(w.e.State.FeatureBranch, "a.txt")
	return text == word+"\n" && w.isDone(rigRepo, 1) && len(w.claims()) == 0
}

// Row R7: what reviews ask of a session whose machine is gone is heard by a bot that never had it, and pushed to the same
// pull request: changes that a review requests, and then a command in a review.
func TestProtocolR7AReviewIsForASessionOfAnotherMachine(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	w := newReviewed(t)
	if code := w.bot.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.bot.out.String())
	}
	w.asked.Add(6) // rounds, each of another machine, and what three bots poll
	w.repo.Review(w.pull.Number, rigOwner, "CHANGES_REQUESTED", "Say three.")
	w.later.Add(300)
	second := w.elsewhere(w.options("three"))
	b := second.background("bot")
	w.eventually("the change is on the branch", func() bool { return w.says("three") }, func() string { return w.bot.out.String() + b.out.String() })
	if code := b.exit(syscall.SIGTERM); code != 0 || len(second.served(rigRepo)) != 1 {
		t.Fatalf("exit %d\n%s", code, b.out.String())
	}
	w.repo.Review(w.pull.Number, rigOwner, "COMMENTED", "/agentmux changes say four")
	w.later.Add(300)
	third := w.elsewhere(w.options("four"))
	before := b.out.String()
	b = third.background("bot")
	w.eventually("the command is carried out", func() bool { return w.says("four") }, func() string { return before + b.out.String() })
	if code := b.exit(syscall.SIGTERM); code != 0 || len(w.repo.Pulls()) != 1 {
		t.Errorf("exit %d, %d pull requests\n%s", code, len(w.repo.Pulls()), b.out.String())
	}
	served := third.served(rigRepo)
	if len(served) != 1 || served[0].State.Identity != w.e.State.Identity {
		t.Errorf("sessions %+v", served)
	}
	branches := slices.DeleteFunc(branchesOf(w.repo), func(ref string) bool { return !strings.HasPrefix(ref, "refs/heads/") })
	if len(branches) != 2 {
		t.Errorf("branches %q", branches)
	}
}

// Row R7: a bot that does not have the session leaves a review to the one that has it, and what that one did alone.
func TestProtocolR7AReviewIsLeftToTheMachineOfItsSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	w := newReviewed(t)
	second := w.elsewhere(w.options("three"))
	w.asked.Add(4) // a round, and what two bots poll
	b := second.background("bot")
	w.repo.Review(w.pull.Number, rigOwner, "CHANGES_REQUESTED", "Say it again.")
	w.eventually("the review is taken", func() bool {
		return w.says("again")
	}, w.bot.out.String)
	w.later.Add(300)
	w.repo.Comment(w.pull.Number, "Nice.", rigOwner)
	w.eventually("the other bot sees that it was taken", func() bool { return strings.Contains(b.out.String(), "were taken on another machine") }, b.out.String)
	for _, of := range []*background{b, w.bot} {
		if code := of.exit(syscall.SIGTERM); code != 0 {
			t.Errorf("exit %d\n%s", code, of.out.String())
		}
	}
	if n := len(second.served(rigRepo)); n != 0 || len(w.repo.Pulls()) != 1 || strings.Contains(b.out.String(), "continued from its checkpoint") {
		t.Errorf("%d sessions, %d pull requests\n%s", n, len(w.repo.Pulls()), b.out.String())
	}
}

// Row R7: a person has stopped the follow-ups where the session is. No other machine begins a round.
func TestProtocolR7AStopHoldsOnOtherMachines(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	w := newReviewed(t)
	w.repo.Comment(w.pull.Number, "/agentmux stop", rigOwner)
	w.eventually("the follow-ups are stopped", func() bool {
		return strings.Count(w.bot.out.String(), "session let go") == 2 && len(w.claims()) == 0
	}, w.bot.out.String)
	w.repo.Review(w.pull.Number, rigOwner, "CHANGES_REQUESTED", "Say it again.")
	w.later.Add(300)
	second := w.elsewhere(w.options("three"))
	w.asked.Add(3) // two bots poll
	b := second.background("bot")
	w.eventually("the other bot sees that they are", func() bool { return strings.Contains(b.out.String(), "follow-ups of a pull request were stopped") }, b.out.String)
	for _, of := range []*background{b, w.bot} {
		if code := of.exit(syscall.SIGTERM); code != 0 {
			t.Errorf("exit %d\n%s", code, of.out.String())
		}
	}
	if n := len(second.served(rigRepo)); n != 0 || !w.says("two") {
		t.Errorf("%d sessions\n%s", n, b.out.String())
	}
}

// Row R7: a machine that had the session before another one continued it gives a review to the newer one, and not to what it has.
func TestProtocolR7AReviewIsNotForAnOvertakenCopy(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct{ state, body string }{
		"changes": {"CHANGES_REQUESTED", "Say two."}, "a command": {"COMMENTED", "/agentmux changes say two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newReviewed(t)
			if code := w.bot.exit(syscall.SIGTERM); code != 0 {
				t.Fatalf("exit %d\n%s", code, w.bot.out.String())
			}
			w.asked.Add(6) // rounds, and what three bots poll
			w.repo.Review(w.pull.Number, rigOwner, "COMMENTED", "/agentmux changes say three")
			w.later.Add(300)
			second := w.elsewhere(w.options("three"))
			b := second.background("bot")
			w.eventually("the command is carried out", func() bool { return w.says("three") }, b.out.String)
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Fatalf("exit %d\n%s", code, b.out.String())
			}
			w.repo.Review(w.pull.Number, rigOwner, c.state, c.body)
			w.later.Add(300)
			b = w.background("bot")
			w.eventually("the change is on the branch", func() bool { return w.says("two") }, b.out.String)
			if code := b.exit(syscall.SIGTERM); code != 0 {
				t.Errorf("exit %d\n%s", code, b.out.String())
			}
			if e := w.served(rigRepo)[0]; e.State.ChangeRound != 2 {
				t.Errorf("%d rounds of changes", e.State.ChangeRound)
			}
		})
	}
}

// Row R7: a check that failed after the machine of the session was gone leads to a round on another one.
func TestProtocolR7AFailedCheckIsForASessionOfAnotherMachine(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	w := newReviewed(t)
	if code := w.bot.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.bot.out.String())
	}
	w.asked.Add(4) // a round, and what two bots poll
	w.repo.AddCheck(w.pull.HeadSHA, fakehub.CheckSpec{Name: "test", Conclusion: "failure", Log: "a.txt does not say three\n"})
	w.later.Add(300)
	second := w.elsewhere(w.options("three"))
	b := second.background("bot")
	w.eventually("the change is on the branch", func() bool { return w.says("three") }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 || len(second.served(rigRepo)) != 1 || len(w.repo.Pulls()) != 1 {
		t.Fatalf("exit %d\n%s", code, b.out.String())
	}
	if e := second.served(rigRepo)[0]; e.State.ChangeRound != 1 || e.State.Identity != w.e.State.Identity {
		t.Errorf("%d rounds of changes", e.State.ChangeRound)
	}
}

// Row R7: changes that are requested, too, bring the newer session here in the place of the copy.
func TestProtocolR7RequestedChangesPutAnOvertakenCopyAside(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	w := newReviewed(t)
	if code := w.bot.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.bot.out.String())
	}
	w.asked.Add(6) // rounds, and what three bots poll
	w.repo.Review(w.pull.Number, rigOwner, "CHANGES_REQUESTED", "Say three.")
	w.later.Add(300)
	second := w.elsewhere(w.options("three"))
	b := second.background("bot")
	w.eventually("the other machine has it", func() bool { return w.says("three") }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.out.String())
	}
	w.repo.Review(w.pull.Number, rigOwner, "CHANGES_REQUESTED", "Say two.")
	w.later.Add(4000) // more than an hour after the round before
	b = w.background("bot")
	w.eventually("the newer session is here", func() bool { return strings.Contains(b.out.String(), "an overtaken session is put aside") }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
}

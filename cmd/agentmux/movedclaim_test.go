package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// claimed has a host that is gone hold the issue for the session, as for what asked for a round.
func (w *reviewed) claimed(trigger string) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	token := w.github.Token(rigBot)
	store, err := claim.OpenStore(ctx, w.t.TempDir())
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = claim.NewRemote(claim.Options{
		Repo:  remote.Repository{URL: w.github.CloneURL(rigRepo), Secret: func(context.Context) (string, error) { return token, nil }},
		Store: store, RepoID: w.repo.ID(), Host: "a_999_1",
	}).Take(ctx, claim.Want{Issue: 1, Session: orchestrator.PublicID(w.e.State.SessionID, w.e.State.Identity), Trigger: trigger, State: claim.Running})
	if err != nil {
		w.t.Fatal(err)
	}
}

// elders has a hundred issues change after the pull request: the first page of a list does not show it.
func (w *reviewed) elders() {
	for range 100 {
		w.repo.AddIssue(fakehub.IssueSpec{Title: "More", Body: "More.\n", Author: rigOwner})
	}
}

// Row R7: a host that took the issue for a review is gone before the round began. Another one begins it.
func TestProtocolR7AReviewIsLeftByAHostThatIsGone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	w := newReviewed(t)
	if code := w.bot.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.bot.out.String())
	}
	w.asked.Add(4) // a round, and what two bots poll
	id := w.repo.Review(w.pull.Number, rigOwner, "CHANGES_REQUESTED", "Say three.")
	w.claimed(fmt.Sprint("review/", id))
	w.later.Add(300)
	w.elders()
	second := w.elsewhere(w.options("three"))
	b := second.background("bot")
	w.eventually("the change is on the branch", func() bool { return w.says("three") }, func() string { return b.out.String() + fmt.Sprint(w.told(rigRepo, 1)) })
	if code := b.exit(syscall.SIGTERM); code != 0 || len(second.served(rigRepo)) != 1 {
		t.Fatalf("exit %d\n%s", code, b.out.String())
	}
	if told := w.told(rigRepo, 1); strings.Contains(strings.Join(told, ""), "lost") {
		t.Errorf("comments %q", told)
	}
}

// Row R7: a host is killed in the round that a review asked for. Another one continues that round.
func TestProtocolR7TheRoundOfAReviewIsContinuedElsewhere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	w := newReviewed(t)
	if code := w.bot.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.bot.out.String())
	}
	w.asked.Add(5) // a round, and what three bots poll
	w.repo.Review(w.pull.Number, rigOwner, "CHANGES_REQUESTED", "Say three.")
	w.later.Add(300)
	o := w.options("three")
	o.playbook = strings.ReplaceAll(heldUntil(filepath.Join(t.TempDir(), "never")), `"two\n"`, `"three\n"`)
	second, before := w.elsewhere(o), w.saved()
	b := second.background("bot")
	w.eventually("the coder is at work", func() bool { return second.coderAtWork(rigRepo) && len(w.claims()) == 1 }, b.out.String)
	w.eventually("the round is on the server", func() bool { return w.saved() != before }, b.out.String)
	b.exit(syscall.SIGKILL)
	w.elders()
	second.asJob("a_999_1")
	third := w.elsewhere(w.options("three"))
	b = third.background("bot")
	w.eventually("the change is on the branch", func() bool { return w.says("three") }, func() string { return b.out.String() + fmt.Sprint(w.told(rigRepo, 1)) })
	if code := b.exit(syscall.SIGTERM); code != 0 || len(third.served(rigRepo)) != 1 {
		t.Fatalf("exit %d\n%s", code, b.out.String())
	}
}

// Row R7: a host that took the issue for a review is gone, and so is the review. The session says that once, and is as it was.
func TestProtocolR7AReviewThatAHostLeftIsDismissed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	w := newReviewed(t)
	if code := w.bot.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, w.bot.out.String())
	}
	w.asked.Add(3) // what two bots poll
	id := w.repo.Review(w.pull.Number, rigOwner, "CHANGES_REQUESTED", "Say three.")
	w.claimed(fmt.Sprint("review/", id))
	w.repo.DismissReviews(w.pull.Number)
	w.later.Add(300)
	w.elders()
	second := w.elsewhere(w.options("three"))
	b := second.background("bot")
	const says = "no round follows from it any more"
	w.eventually("the session says so", func() bool {
		return strings.Contains(strings.Join(w.told(rigRepo, 1), ""), says) && w.says("two")
	}, func() string { return b.out.String() + fmt.Sprint(w.told(rigRepo, 1)) })
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.out.String())
	}
	second.expect(0, "bot", "--once")
	if told := strings.Join(w.told(rigRepo, 1), ""); strings.Count(told, says) != 1 || !strings.Contains(told, "agentmux: done") || len(w.claims()) > 0 {
		t.Errorf("claims %q, comments %s", w.claims(), told)
	}
}

// saved is the checkpoint of the session.
func (w *reviewed) saved() string {
	return w.repo.Refs()["refs/agentmux/sessions/"+orchestrator.PublicID(w.e.State.SessionID, w.e.State.Identity)]
}

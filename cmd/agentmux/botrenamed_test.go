package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// A repository is renamed while no bot runs, and transferred to another owner while one does, which hears its comments at
// both names. Its session ends in its pull request, and on its issue, once it has a third name: nothing is written to
// another repository that took over the second one.
func TestGitHub87ARepositoryMovesUnderASession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	gate := filepath.Join(t.TempDir(), "go")
	r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig})
	repo := r.github.Repo(rigRepo)
	repo.Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.eventually("the coder is at work", func() bool { return r.coderAtWork(rigRepo) && r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d\n%s", code, b.out.String())
	}
	repo.Rename("gadgets")
	b = r.background("bot")
	r.eventually("the next bot has the session", func() bool { return r.served(rigRepo)[0].Running }, b.out.String)
	heard := func(body string) {
		t.Helper()
		id := repo.Comment(1, body, rigOwner)
		r.eventually(body+" is heard", func() bool { return slices.Contains(r.reactions(rigRepo, 1, id), rigBot+" +1") }, b.out.String)
	}
	heard("/agentmux pause")
	repo.MoveTo("umbrella")
	heard("/agentmux resume")
	repo.Rename("sprockets")
	const former = "umbrella/gadgets"
	if err := r.github.AddRepo(fakehub.RepoSpec{Owner: "umbrella", Name: "gadgets"}); err != nil {
		t.Fatal(err)
	}
	other := r.github.Repo(former)
	for _, login := range []string{rigBot, rigOwner} { // who asked for the work is looked up by the name
		other.SetRole(login, fakehub.Write)
	}
	other.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "Another.\n", Author: rigOwner})
	before, refs := other.Picture(), other.Refs()
	r.write(gate, "")
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) && r.claimRef() == "" }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	if told := r.told(rigRepo, 1); len(told) != 3 {
		t.Errorf("comments %q", told)
	}
	if after, pushed := other.Picture(), other.Refs(); after != before || !maps.Equal(pushed, refs) {
		t.Errorf("written to the repository that has the former name:\n%s\n%v\nbefore\n%s\n%v", after, pushed, before, refs)
	}
	r.done(r.served(rigRepo)[0])
}

// takeover makes a repository of the name that another one had, to whose owner the bot's account and the person
// who asks may write, too.
func (r *rig) takeover(name string) *fakehub.Repo {
	r.t.Helper()
	owner, repo, _ := strings.Cut(name, "/")
	if err := r.github.AddRepo(fakehub.RepoSpec{Owner: owner, Name: repo}); err != nil {
		r.t.Fatal(err)
	}
	taker := r.github.Repo(name)
	for _, login := range []string{rigBot, rigOwner} {
		taker.SetRole(login, fakehub.Admin)
	}
	taker.AddIssue(fakehub.IssueSpec{Title: "Another", Body: "Another.\n", Author: rigOwner})
	return taker
}

// The name of a repository is taken over by another one while a bot works for it, which hears nothing of that: its
// branch, its checkpoints, its claims and its comments go to the repository that it works for, by its new name, and the
// permission of who asked is that in this one. Of a repository that was deleted, nothing goes anywhere.
func TestGitHub87NothingIsWrittenToARepositoryThatTookTheName(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		leave func(repo *fakehub.Repo)
		says  string // why nothing is pushed; empty: it is done
	}{
		"renamed":                 {leave: func(repo *fakehub.Repo) { repo.Rename("gadgets") }},
		"renamed, without rights": {func(repo *fakehub.Repo) { repo.Rename("gadgets"); repo.SetRole(rigOwner, fakehub.Read) }, "write"},
		"deleted":                 {(*fakehub.Repo).Delete, "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := filepath.Join(t.TempDir(), "go")
			r := newRig(t, rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig})
			repo := r.github.Repo(rigRepo)
			repo.Label(1, "agentmux:quick", rigOwner)
			b := r.background("bot")
			r.eventually("the coder is at work", func() bool { return r.coderAtWork(rigRepo) && r.hasLabel(rigRepo, 1, "agentmux:running") }, b.out.String)
			c.leave(repo)
			taker := r.takeover(rigRepo)
			before, refs := taker.Picture(), taker.Refs()
			written := func() bool { return taker.Picture() != before || !maps.Equal(taker.Refs(), refs) }
			r.write(gate, "")
			e := func() session.Entry { return r.served(rigRepo)[0] }
			r.eventually("it has ended", func() bool {
				return written() || e().State.Ended() && (c.says != "" || repo.Refs()["refs/agentmux/claims/1"] == "")
			}, b.out.String)
			if signal := map[bool]syscall.Signal{true: syscall.SIGTERM, false: syscall.SIGKILL}[c.says != "is gone"]; b.exit(signal) != 0 && signal == syscall.SIGTERM {
				t.Errorf("exit\n%s", b.out.String()) // of the other it would look once more for its issue, after minutes
			}
			if written() {
				t.Fatalf("written to the repository that took the name:\n%s\n%v\nbefore\n%s\n%v", taker.Picture(), taker.Refs(), before, refs)
			}
			s := e().State
			if c.says == "" {
				if s.Outcome != orchestrator.OutcomeDone || len(repo.Pulls()) != 1 || len(repo.Comments(1)) != 3 {
					t.Errorf("outcome %s %s, pull requests %v, comments %v", s.Outcome, s.OutcomeReason, repo.Pulls(), repo.Comments(1))
				}
				return
			}
			if why := string(s.OutcomeReason) + " " + r.read(e().Dir, "events.jsonl"); s.Outcome != orchestrator.OutcomeNeedsHuman || !strings.Contains(why, c.says) {
				t.Errorf("outcome %s %s: %s", s.Outcome, s.OutcomeReason, why)
			}
		})
	}
}

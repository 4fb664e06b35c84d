package main

import (
	"maps"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// A repository is renamed while no bot runs, and transferred to another owner while one does, which hears its comments at
// both names. Its session ends in its pull request, and on its issue, once it has a third name: nothing is written to
// another repository that took over the second one.
func TestGitHub87ARepositoryMovesUnderASession(t *testing.T) {
	t.Parallel()
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

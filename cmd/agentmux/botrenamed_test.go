package main

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// A repository is renamed while no bot runs, and transferred to another owner while one does, which hears its comments at
// both names. Its session ends in its pull request, and on its issue, after a further restart and under a third name.
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
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	b = r.background("bot")
	r.eventually("the session has a host again", func() bool { return r.served(rigRepo)[0].Running }, b.out.String)
	repo.Rename("sprockets")
	r.write(gate, "")
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) && r.claimRef() == "" }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	if told := r.told(rigRepo, 1); len(told) != 3 {
		t.Errorf("comments %q", told)
	}
	r.done(r.served(rigRepo)[0])
}

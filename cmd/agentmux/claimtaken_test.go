package main

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// Case 88: the claim of a host that is gone is left to it, too, until a person says that it is taken; that of one that
// lives is not taken for any word.
func TestGitHub88AStaleClaimIsTakenByAWordAlone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo := r.github.Repo(rigRepo)
	run := append([]string{"issue", "1"}, quickRun...)
	take := append(run[:len(run):len(run)], "--take")
	r.putClaims(jobOf, claim.Running, 1)
	theirs := r.claimRef()
	for _, step := range []struct {
		status string
		args   []string
	}{{"in_progress", take}, {"completed", run}} {
		repo.SetRun(fakehub.Run{ID: 101, Attempt: 1, Status: step.status})
		if res := r.expect(4, step.args...); !strings.Contains(res.err, "is claimed by host "+jobOf(1).String()) || !strings.Contains(res.err, "--take takes it over") {
			t.Errorf("the job is %s: %s", step.status, res.err)
		}
		if r.claimRef() != theirs || len(r.sessions()) != 0 {
			t.Errorf("the job is %s: the claim is at %q, was at %q; %d sessions", step.status, r.claimRef(), theirs, len(r.sessions()))
		}
	}
	r.expect(0, take...)
	r.done(r.session())
	if left := r.claims(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

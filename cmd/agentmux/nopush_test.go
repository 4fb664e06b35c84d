package main

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
)

// github.push decides about the branch and its pull request alone: the issue is claimed, and the session is shown on it.
func TestWithoutAPushTheIssueIsClaimedAndShown(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook, config: "github: {push: false}\n"})
	host := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.atWork("coder")
	claimed := false
	for _, ref := range r.ourRefs() {
		claimed = claimed || strings.HasPrefix(ref, "refs/agentmux/claims/")
	}
	if !claimed {
		t.Errorf("not claimed: %v", r.ourRefs())
	}
	r.eventually("the issue shows it", func() bool { return r.says("### agentmux: ") }, host.out.String)
	if out := r.expect(0, "status", "--json").out; !strings.Contains(out, `"shown": true`) {
		t.Errorf("status says\n%s", out)
	}
	r.expect(0, "stop")
	host.over()
	if left := r.ourRefs(); len(left) > 0 {
		t.Errorf("left on the server: %v", left)
	}
}

// What such a session ends with is in the clone.
func TestWithoutAPushTheBranchStaysInTheClone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "github: {push: false}\n"})
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	e, repo := r.session(), r.github.Repo(rigRepo)
	r.git(r.clone, "rev-parse", "--verify", e.State.FeatureBranch)
	if len(repo.Pulls()) != 0 || len(branchesOf(repo)) != 1 {
		t.Errorf("pulls %v, refs %v", repo.Pulls(), repo.Refs())
	}
	if !r.says("### agentmux: done") {
		t.Errorf("the issue says %+v", repo.Comments(1))
	}
}

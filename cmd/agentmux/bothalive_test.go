package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// botSaved waits until work of the bot's only session is on the server. It returns what reads that session; without a state
// while there is none, or another one beside it.
func (r *rig) botSaved(b *background) (here func() session.Entry) {
	r.t.Helper()
	here = func() session.Entry {
		if entries := r.served(rigRepo); len(entries) == 1 && entries[0].State != nil {
			return entries[0]
		}
		return session.Entry{}
	}
	r.eventually("the bot has a session", func() bool { return here().State != nil }, b.out.String)
	r.workSaved(here(), b)
	return here
}

// Row R7, case 67: a machine that was thought to be gone is alive when another one has its session. It stops its agents, keeps
// what they had not handed in, and writes nothing more; the other one ends the session with one result.
func TestGitHub67TheMachineThatLostItsClaimIsAlive(t *testing.T) {
	testfull.Only(t)
	t.Parallel()
	o := rigOptions{playbook: heldPlaybook, unlabel: true, config: botConfig}
	first := newRig(t, o)
	first.saveOften()
	repo := first.github.Repo(rigRepo)
	b := first.background("bot")
	repo.Label(1, "agentmux:quick", rigOwner)
	here := first.botSaved(b)
	first.asJob("a_80_1") // its claim was taken: the first machine is not asked

	o.playbook = laterPlaybook
	second := first.elsewhere(o)
	other := second.background("bot")
	second.eventually("the session ends there, and its claim is given back", func() bool {
		return second.isDone(rigRepo, 1) && second.claimRef() == ""
	}, other.out.String)
	for _, w := range here().State.Workspaces { // the agent there works, and has it saved
		first.write(filepath.Join(w.Path, "late.txt"), "late\n")
	}
	first.eventually("the first machine lets go", func() bool {
		s := here().State
		return s.Ended() && len(s.Pending) == 0
	}, b.out.String)
	e := here()
	if e.State.OutcomeReason != orchestrator.ReasonClaimLost {
		t.Errorf("outcome %s %s: %s", e.State.Outcome, e.State.OutcomeReason, e.State.Cause)
	}
	for key, a := range e.State.Agents {
		if a.Launch != "" {
			t.Errorf("%s is at work", key)
		}
	}
	if kept := first.git(first.store(rigRepo), "log", "--name-only", "--format=%D", "--glob=refs/agentmux/preserved"); !strings.Contains(kept, "late.txt") {
		t.Errorf("the work that was not handed in is not kept: %s", kept)
	}
	for _, of := range []*background{other, b} {
		if code := of.exit(syscall.SIGTERM); code != 0 {
			t.Errorf("exit %d\n%s", code, of.out.String())
		}
	}
	entries := second.served(rigRepo)
	if len(entries) != 1 || entries[0].State.Identity != e.State.Identity {
		t.Fatalf("sessions %+v", entries)
	}
	second.oneResult(entries[0], 1)
	if text := first.git(repo.Dir(), "show", e.State.FeatureBranch+":a.txt"); text != "two" {
		t.Errorf("a.txt holds %q", text)
	}
}

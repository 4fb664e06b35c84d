package main

import (
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/testfull"
)

// A question of a session of the bot is answered from a terminal of its machine, and the issue says so.
func TestAnswerBesideTheBot(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: parkedPlaybook, unlabel: true, config: botConfig})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.eventually("the planner asks", func() bool { return r.says("Reply: `/agentmux answer q1 <number or text>`") }, b.out.String)
	r.expect(1, "answer", "q7", "2", "--session", rigRepo+"#1")
	r.expect(0, "answer", "2", "--session", rigRepo+"#1")
	r.eventually("it is done", func() bool { return r.isDone(rigRepo, 1) }, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	r.done(r.served(rigRepo)[0])
	if !r.says("| answer | ✅ applied |") {
		t.Errorf("the issue does not say who answered:\n%+v", r.github.Repo(rigRepo).Comments(1))
	}
}

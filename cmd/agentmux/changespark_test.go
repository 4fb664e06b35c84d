package main

import (
	"testing"

	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/orchestrator"
)

// Changes that a person asks of a session that waits continue it as a resume does, which its records say.
func TestChangesAtAParkResumeTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	repo := r.github.Repo(rigRepo)
	repo.RefusePush(fakehub.HiddenRule("refs/heads/agentmux/*"))
	r.parked(r.quick(3), orchestrator.ReasonPushRejected, "hidden ref")
	repo.AllowPush()
	r.expect(0, "changes", "say it again")
	resumed := 0
	for _, record := range r.recordsOf(r.session()) {
		if record.Type == orchestrator.EvResumed {
			resumed++
		}
	}
	if s := r.session().State; resumed != 1 || s.ChangeRound != 1 {
		t.Errorf("resumed %d times, round %d", resumed, s.ChangeRound)
	}
	r.eventually("it ends", func() bool { e := r.session(); return !e.Running && e.State.Ended() }, func() string { return r.session().State.Phase })
}

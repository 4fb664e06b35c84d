package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// aheadEnv names a file; once it is there, the clock of the command is as far ahead as it says, as after it was stopped.
const aheadEnv = "AGENTMUX_TEST_AHEAD"

// runAhead is runProcess for such a command.
func runAhead(panes string) int {
	return runProcess(panes, func(a *app, _ context.CancelCauseFunc) {
		a.Now = func() time.Time {
			text, _ := os.ReadFile(os.Getenv(aheadEnv)) // not there yet: no time is added
			by, _ := time.ParseDuration(string(text))
			return time.Now().Add(by)
		}
	})
}

// A bot that is stopped under a session for longer than its claim counts is woken when another one has ended that session.
// Its agents hand their work in, and it writes nothing of it.
func TestGitHub79AStoppedBotWritesNothingOnceItIsWoken(t *testing.T) {
	testfull.Only(t)
	t.Parallel()
	gate, ahead := filepath.Join(t.TempDir(), "go"), filepath.Join(t.TempDir(), "ahead")
	o := rigOptions{playbook: heldUntil(gate), unlabel: true, config: botConfig}
	first := newRig(t, o)
	first.saveOften()
	first.setEnv(aheadEnv, ahead)
	repo := first.github.Repo(rigRepo)
	b := first.background("bot")
	repo.Label(1, "agentmux:quick", rigOwner)
	here := first.botSaved(b)
	if err := b.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	first.asJob("a_81_1")

	o.playbook = laterPlaybook
	second := first.elsewhere(o)
	other := second.background("bot")
	second.eventually("the session ends there, and its claim is given back", func() bool {
		return second.isDone(rigRepo, 1) && second.claimRef() == ""
	}, other.out.String)
	if code := other.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, other.out.String())
	}
	before, refs := repo.Picture(), sessionRefs(repo.Refs())
	first.write(ahead, "11m")
	first.write(gate, "")
	if err := b.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	first.eventually("the bot that was stopped lets go", func() bool {
		s := here().State
		return s.Ended() && len(s.Pending) == 0
	}, b.out.String)
	if code := b.exit(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d\n%s", code, b.out.String())
	}
	if e := here(); e.State.OutcomeReason != orchestrator.ReasonClaimLost {
		t.Errorf("outcome %s %s: %s", e.State.Outcome, e.State.OutcomeReason, e.State.Cause)
	}
	if after := repo.Picture(); after != before {
		t.Errorf("it wrote\n%s\nbefore\n%s", after, before)
	}
	if after := sessionRefs(repo.Refs()); !maps.Equal(after, refs) {
		t.Errorf("it pushed %v, before %v", after, refs)
	}
	second.oneResult(second.served(rigRepo)[0], 1)
}

// sessionRefs are the refs without the beats of hosts.
func sessionRefs(refs map[string]string) map[string]string {
	maps.DeleteFunc(refs, func(name, _ string) bool { return strings.HasPrefix(name, "refs/agentmux/hosts/") })
	return refs
}

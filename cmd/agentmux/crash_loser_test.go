//go:build crash

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/orchestrator"
)

// TestBotCrashesAsALoser kills a bot at crash points of the way on which it finds that another host has the claim of
// its session, and starts it again: agents are stopped, what they had not submitted is kept, and nothing is written on
// the server. AGENTMUX_CRASH_STRIDE takes only each n-th point, AGENTMUX_CRASH_SEED another choice.
func TestBotCrashesAsALoser(t *testing.T) {
	log := filepath.Join(t.TempDir(), "whole.points")
	loser(t, log, "")
	points := byName(read(t, log))
	stride := max(1, numberOf("AGENTMUX_CRASH_STRIDE", 1))
	t.Logf("each %d. of %d points", stride, len(points))
	for i := numberOf("AGENTMUX_CRASH_SEED", 1) % stride; i < len(points); i += stride {
		at := points[i].name + "#1"
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			loser(t, filepath.Join(t.TempDir(), "killed.points"), at)
		})
	}
}

// loser leads a bot whose claim was taken, and which is killed at a point if there is one, to the end of its session.
func loser(t *testing.T, log, at string) {
	r := newRig(t, rigOptions{playbook: heldPlaybook, unlabel: true, config: botConfig})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	b := r.background("bot")
	r.eventually("the coder is at work", func() bool {
		if !r.coderAtWork(rigRepo) {
			return false
		}
		e := r.served(rigRepo)[0]
		for key, a := range e.State.Agents {
			if key.Role() == "coder" && !r.recorded(e, orchestrator.EvAgentStarted, a.Launch) {
				return false
			}
		}
		for _, w := range e.State.Workspaces {
			if w.Path == "" {
				return false
			}
		}
		return len(e.State.Workspaces) > 0
	}, b.out.String)
	b.exit(syscall.SIGKILL)
	s := r.served(rigRepo)[0].State
	for _, w := range s.Workspaces {
		if err := os.WriteFile(filepath.Join(w.Path, "half.txt"), []byte("half\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.asJob("a_91_1")
	writes, refs := len(r.github.Log()), r.github.Repo(rigRepo).Refs()

	r.setEnv(crashLog, log)
	r.setEnv(crashAt, at)
	ended := func() bool {
		e := r.served(rigRepo)[0]
		return e.State.Ended() && !e.Running && len(e.State.Pending) == 0
	}
	b = r.background("bot")
	exited := func() bool {
		select {
		case <-b.ended:
			return true
		default:
			return false
		}
	}
	r.eventually("it ends or is killed, with nothing pending", func() bool { return ended() || exited() }, b.out.String)
	if exited() {
		r.setEnv(crashAt, "")
		b = r.background("bot")
		r.eventually("the next bot ends it", ended, b.out.String)
	}
	b.exit(syscall.SIGTERM)

	e := r.served(rigRepo)[0]
	if e.State.Outcome != orchestrator.OutcomeCanceled || e.State.OutcomeReason != orchestrator.ReasonClaimLost || !strings.Contains(string(e.State.Cause), "a_91_1") {
		t.Errorf("outcome %s %s: %s", e.State.Outcome, e.State.OutcomeReason, e.State.Cause)
	}
	for key, a := range e.State.Agents {
		if a.Launch != "" {
			t.Errorf("%s is at work", key)
		}
	}
	if kept := r.git(r.store(rigRepo), "log", "--name-only", "--format=%D", "--glob=refs/agentmux/preserved"); !strings.Contains(kept, "half.txt") {
		t.Errorf("the work that was not submitted is not kept: %s", kept)
	}
	for _, w := range r.github.Log()[writes:] {
		if !strings.HasPrefix(w.Route, "GIT") {
			t.Errorf("written after the loss: %s %s", w.Route, w.Path)
		}
	}
	for name, id := range r.github.Repo(rigRepo).Refs() {
		if refs[name] != id && !strings.HasPrefix(name, "refs/agentmux/hosts/") {
			t.Errorf("%s was moved after the loss", name)
		}
	}
	if t.Failed() {
		t.Log(b.out.String())
	}
}

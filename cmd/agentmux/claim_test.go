package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// claimRef is where the server has the claim of the issue; empty for nowhere.
func (r *rig) claimRef() string { return r.github.Repo(rigRepo).Refs()["refs/agentmux/claims/1"] }

// ourRefs are those on the server that are no branches, and no checkpoints, which stay for some days.
func (r *rig) ourRefs() (list []string) {
	for ref := range r.github.Repo(rigRepo).Refs() {
		if strings.HasPrefix(ref, "refs/agentmux/") && !strings.HasPrefix(ref, checkpoints) {
			list = append(list, ref)
		}
	}
	return list
}

// Case 88: an issue that a host of another machine has claimed is left to it. After a kill the
// session's own next host continues with the claim, and at the end it is given back.
func TestGitHub88AnIssueIsWorkedOnByOneMachine(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	options := rigOptions{playbook: heldPlaybook}
	r := newRig(t, options)
	run := append([]string{"issue", "1"}, quickRun...)
	first := r.background(run...)
	e := r.atWork("coder")
	note, err := claim.ReadNote(e.Dir)
	if err != nil || len(note.Claims) != 1 || note.Claims[0].ID != r.claimRef() {
		t.Fatalf("claim.json %+v, claim at %q, %v", note, r.claimRef(), err)
	}
	other := r.elsewhere(options)
	for _, args := range [][]string{run, append(run[:len(run):len(run)], "--new"), append(run[:len(run):len(run)], "--take")} {
		r.row(strings.Join(args, " "), func(t *testing.T) {
			res := other.expect(4, args...)
			if !strings.Contains(res.err, "acme/widgets#1 is claimed by host "+note.Host.String()+" for the session ") ||
				!strings.Contains(res.err, "--take takes it over once that host was silent for 10 minutes") {
				t.Errorf("%v: %s", args, res.err)
			}
		})
	}
	if n := len(other.sessions()); n != 0 {
		t.Errorf("%d sessions on the other machine", n)
	}
	first.exit(syscall.SIGKILL)
	other.expect(4, run...)
	second := r.background("resume", "--headless")
	r.eventually("the next host has the session", func() bool { return r.recorded(e, orchestrator.EvResumed, "") }, nil)
	if now, err := claim.ReadNote(e.Dir); err != nil || now.Host != note.Host || r.claimRef() == "" {
		t.Errorf("claim.json %+v, claim at %q, %v", now, r.claimRef(), err)
	}
	if code := second.exit(syscall.SIGINT); code != 130 {
		t.Errorf("exit %d\n%s", code, second.out.String())
	}
	if left := r.ourRefs(); len(left) > 0 {
		t.Errorf("left on the server: %v", left)
	}
}

// Case 41: a server that refuses custom refs is named with the setting that does without them.
func TestGitHub41WithoutCustomRefsThereIsALockOfTheMachine(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.github.Repo(rigRepo).RefusePush(fakehub.HiddenRule("refs/agentmux/*"))
	run := append([]string{"issue", "1"}, quickRun...)
	if res := r.expect(2, run...); !strings.Contains(res.err, "bot.single_host: true") {
		t.Errorf("%s", res.err)
	}
	config := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	r.write(config, r.read(config)+"bot: {single_host: true}\n")
	r.expect(0, append(run, "--new")...)
	if on := r.ourRefs(); len(on) > 0 {
		t.Errorf("on the server: %v", on)
	}
}

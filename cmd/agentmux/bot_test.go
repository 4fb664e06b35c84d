package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// served lists the sessions of the bot of the rig.
func (r *rig) served(repo string) []session.Entry {
	r.t.Helper()
	owner, name, _ := strings.Cut(repo, "/")
	dirs, err := filepath.Glob(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "*", owner, name))
	if err != nil || len(dirs) != 1 {
		r.t.Fatalf("%v, %v", dirs, err)
	}
	entries, err := session.List(dirs[0])
	if err != nil {
		r.t.Fatal(err)
	}
	return entries
}

func TestBotOnceServesEveryRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook, unlabel: true, config: "bot: {status_addr: \"\"}\ngate: {public_unsandboxed: true}\n"})
	r.github.Repo(rigRepo).Label(1, "agentmux:quick", rigOwner)
	res := r.expect(0, "bot", "--once")
	t.Log(res.err)
	entries := r.served(rigRepo)
	if len(entries) != 1 {
		t.Fatalf("%+v", entries)
	}
	r.done(entries[0])
	for _, c := range r.github.Repo(rigRepo).Comments(1) {
		t.Log(c.Body)
	}
}

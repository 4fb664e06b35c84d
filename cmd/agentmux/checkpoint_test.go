package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// checkpoints is where they are on the server.
const checkpoints = "refs/agentmux/sessions/"

// savedOnes are the checkpoints on the server.
func (r *rig) savedOnes() (refs []string) {
	for ref := range r.github.Repo(rigRepo).Refs() {
		if strings.HasPrefix(ref, checkpoints) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// branchesOf are the refs of a repository but for checkpoints.
func branchesOf(repo *fakehub.Repo) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(repo.Refs())), func(ref string) bool { return strings.HasPrefix(ref, checkpoints) })
}

// saved is the checkpoint of a session on the server: its commit, the manifest and the names of its
// files. The commit is empty if there is none.
func (r *rig) saved(e session.Entry) (id string, m checkpoint.Manifest, names []string) {
	r.t.Helper()
	repo := r.github.Repo(rigRepo)
	if id = repo.Refs()[checkpoints+e.Name+"-"+e.State.Identity]; id == "" {
		return "", m, nil
	}
	m, err := checkpoint.ParseMessage(r.git(repo.Dir(), "log", "-1", "--format=%B", id))
	if err != nil {
		r.t.Fatal(err)
	}
	return id, m, strings.Split(r.git(repo.Dir(), "ls-tree", "-r", "--name-only", id), "\n")
}

// saveOften has the rig's sessions saved every second while agents work.
func (r *rig) saveOften() {
	config := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	r.write(config, r.read(config)+"checkpoint: {every: 1s}\n")
}

// What an agent has written and not handed in is on the server while it works, under the claim, and
// with what another machine needs to continue. It stays there when the host is killed.
func TestACheckpointGetsToTheServerWhileAgentsWork(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: heldPlaybook})
	r.saveOften()
	b := r.background(append([]string{"issue", "1"}, quickRun...)...)
	e := r.atWork("coder")
	var m checkpoint.Manifest
	var names []string
	r.eventually("the work is on the server", func() bool {
		_, m, names = r.saved(e)
		return slices.ContainsFunc(slices.Collect(maps.Keys(m.Work)), func(w string) bool { return len(m.Work[w].Changed) > 0 })
	}, b.out.String)
	if m.Issue != 1 || m.Repo != rigRepo || m.Session != e.Name+"-"+e.State.Identity || m.Host == "" {
		t.Errorf("manifest %+v", m)
	}
	for _, want := range []string{"session/state.json", "session/events.jsonl", "session/04_planning/plan.yaml"} {
		if !slices.Contains(names, want) || m.Files[strings.TrimPrefix(want, "session/")] == "" {
			t.Errorf("%s is not in it: %v", want, names)
		}
	}
	b.exit(syscall.SIGKILL)
	id, _, _ := r.saved(e)
	if id == "" || r.claimRef() == "" {
		t.Error("the kill took the checkpoint or the claim")
	}
	// With the base as its parent the server is sent what differs from it alone.
	if parents := r.git(r.github.Repo(rigRepo).Dir(), "log", "-1", "--format=%P", id); parents != e.State.BaseSHA {
		t.Errorf("its parents are %q, the base is %s", parents, e.State.BaseSHA)
	}
}

// checkpoint.remote: false keeps checkpoints here.
func TestCheckpointsStayHereIfThatIsWanted(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	config := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	r.write(config, r.read(config)+"checkpoint: {remote: false}\n")
	r.quick(0)
	if id, _, _ := r.saved(r.session()); id != "" {
		t.Errorf("%s is on the server", id)
	}
}

// clean removes the checkpoint of a session from the server with it.
func TestCleanRemovesTheCheckpointFromTheServer(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	r.quick(0)
	e := r.session()
	if id, _, _ := r.saved(e); id == "" {
		t.Fatal("there is no checkpoint on the server")
	}
	r.expect(0, "clean", "--force")
	if id, _, _ := r.saved(e); id != "" || len(r.sessions()) > 0 {
		t.Errorf("%s is on the server, %d sessions are here", id, len(r.sessions()))
	}
}

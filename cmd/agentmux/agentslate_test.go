package main

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// pushedLate is a run whose machine is gone, and which pushed the branch of an agent, at was, and opened its pull request after its
// last checkpoint; and another machine that is to continue it.
func pushedLate(t *testing.T) (repo *fakehub.Repo, other *rig, was string) {
	t.Helper()
	config := "github: {write_interval: 0s}\n"
	r := newRig(t, rigOptions{config: config, playbook: diamondSteps(map[string]string{
		"base": writes("base") + "      - hang: true\n", "left": "      - hang: true\n",
	})})
	r.saveOften()
	repo = r.github.Repo(rigRepo)
	const file = "session: shop\non_complete: [push, pr]\nagents:\n" +
		"  - {name: base, branch: f/base, issue: 1}\n  - {name: left, branch: f/left, task: Left, depends_on: base, from: base}\n"
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), file)
	b := r.background("agents", "start", "--yes", "--headless")
	e := r.atWork("build")
	r.workSaved(e, b)
	saved, _, _ := r.saved(e)
	r.expect(exit.Done, "agents", "done", "base")
	r.eventually("the branch is on the server, with its pull request", func() bool { return len(repo.Pulls()) == 1 }, b.out.String)
	// A push that outlives its host expects the one before on the server. It must not be the one that is put back.
	r.eventually("a later checkpoint is there", func() bool { id, _, _ := r.saved(e); return id != saved }, b.out.String)
	b.exit(syscall.SIGKILL)
	was = repo.Refs()["refs/heads/f/base"]
	r.git(repo.Dir(), "update-ref", checkpoints+e.Name+"-"+e.State.Identity, saved)
	r.asJob("a_77_1")

	other = r.elsewhere(rigOptions{config: config, playbook: diamondSteps(map[string]string{
		"base": "      - write: {file: base.txt, text: \"later\\n\"}\n" + submits, "left": writes("left") + submits,
	})})
	other.write(filepath.Join(other.clone, ".dmux-agents.yml"), file)
	return repo, other, was
}

// Row R7: the second machine continues a branch that the first one pushed late with what its own agent hands in: one branch
// and one pull request, and nothing that was pushed is lost.
func TestProtocolR7ABranchThatWasPushedAfterTheCheckpointIsContinued(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	repo, other, was := pushedLate(t)
	res := other.expect(exit.Done, "agents", "start", "--yes", "--headless", "--from-checkpoint", "--take")

	moved := other.session()
	other.sound(moved)
	var pulls []string
	for _, p := range repo.Pulls() {
		pulls = append(pulls, p.Head+" on "+p.Base)
		if at := other.git(other.clone, "rev-parse", p.Head); at != p.HeadSHA {
			t.Errorf("%s is at %s in the clone, at %s on the server", p.Head, at, p.HeadSHA)
		}
	}
	if slices.Sort(pulls); !slices.Equal(pulls, []string{"f/base on main", "f/left on f/base"}) {
		t.Errorf("pull requests %q\n%s%s", pulls, res.out, res.err)
	}
	branches := slices.DeleteFunc(branchesOf(repo), func(ref string) bool { return !strings.HasPrefix(ref, "refs/heads/") })
	if len(branches) != 3 {
		t.Errorf("branches %q", branches)
	}
	if parent := other.git(other.clone, "rev-parse", "f/base^"); parent != was {
		t.Errorf("f/base is on %s, what was pushed is %s", parent, was)
	}
	if text := other.git(other.clone, "show", "f/base:base.txt"); text != "later" {
		t.Errorf("base.txt holds %q", text)
	}
	res = other.expect(exit.BadUsage, "agents", "start", "--yes", "--headless", "--from-checkpoint")
	if !strings.Contains(res.err, "shop is here already, and no other machine went on with it") || !strings.Contains(res.err, "every agent is done") || other.session().Dir != moved.Dir {
		t.Errorf("once more: %s", res.err)
	}
	if diff := other.git(other.clone, "diff", "--name-only", "f/base", "f/left"); diff != "left.txt" {
		t.Errorf("f/left differs from f/base in %q", diff)
	}
}

// A machine that died before its first checkpoint still holds the issues of its run. Another one that takes them begins the run.
func TestARunThatWasNeverSavedBeginsElsewhere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	o := rigOptions{config: "github: {write_interval: 0s}\n", playbook: diamondSteps(map[string]string{"base": "      - hang: true\n"})}
	r := newRig(t, o)
	const file = "session: shop\nagents:\n  - {name: base, branch: f/base, issue: 1}\n"
	r.write(filepath.Join(r.clone, ".dmux-agents.yml"), file)
	b := r.background("agents", "start", "--yes", "--headless")
	e := r.atWork("build")
	r.eventually("a checkpoint is there, so that no push of the first is under way", func() bool { id, _, _ := r.saved(e); return id != "" }, b.out.String)
	b.exit(syscall.SIGKILL)
	r.git(r.github.Repo(rigRepo).Dir(), "update-ref", "-d", checkpoints+e.Name+"-"+e.State.Identity)
	r.asJob("a_77_1")
	o.playbook = diamondSteps(map[string]string{"base": writes("base") + submits})
	other := r.elsewhere(o)
	other.write(filepath.Join(other.clone, ".dmux-agents.yml"), file)
	start := []string{"agents", "start", "--yes", "--headless"}
	if res := other.expect(exit.Locked, start...); !strings.Contains(res.err, "--take takes it over") {
		t.Errorf("without --take: %s", res.err)
	}
	if res := other.expect(exit.BadUsage, append(start, "--take", "--from-checkpoint")...); !strings.Contains(res.err, "agentmux agents start begins one, with --take") {
		t.Errorf("from a checkpoint: %s", res.err)
	}
	if res := other.expect(exit.Done, append(start, "--take")...); !strings.Contains(res.err, "it begins here") {
		t.Errorf("with --take: %s", res.err)
	}
	if text := other.git(other.clone, "show", "f/base:base.txt"); text != "base" {
		t.Errorf("base.txt holds %q", text)
	}
}

package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// TestTwoSessionsOfTheSameWordsHaveABranchEach has both prepared before either has made its
// branch.
func TestTwoSessionsOfTheSameWordsHaveABranchEach(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(simple())
	dirs := []string{r.prepare(quick), r.prepare(quick)}
	branches := map[string]bool{}
	for _, dir := range dirs {
		s := r.run(host.RunSpec{Dir: dir})
		mustEnd(t, s, orchestrator.OutcomeDone, "")
		branches[s.FeatureBranch] = true
		if got := r.git("show", s.FeatureBranch+":a.txt"); got != "hello" {
			t.Errorf("%s has %q", s.FeatureBranch, got)
		}
	}
	if len(branches) != 2 {
		t.Errorf("branches: %v", branches)
	}
	// What a removed session had reserved is free again, as far as no branch is there.
	if _, err := r.host.Remove(t.Context(), dirs[0], r.config); err != nil {
		t.Fatal(err)
	}
	first := r.state(dirs[1]).FeatureBranch
	if !strings.HasSuffix(first, "-2") {
		t.Errorf("the second session has the branch %s", first)
	}
}

// TestABranchOfAPersonIsLeftAlone has one made with the session's name while it works, and other
// things in the way of it.
func TestABranchOfAPersonIsLeftAlone(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, c := range map[string]struct {
		block func(r *rig, branch string)
		park  string // what the park says; empty: the session ends with another branch
	}{
		"a branch": {func(r *rig, branch string) {
			r.git("checkout", "-q", "-b", branch)
			r.git("commit", "-q", "--allow-empty", "-m", "mine")
			r.git("checkout", "-q", "main")
		}, ""},
		"checked out": {func(r *rig, branch string) { r.git("checkout", "-q", "-b", branch) }, ""},
		"the prefix":  {func(r *rig, _ string) { r.git("branch", "agentmux") }, "beside the branch agentmux"},
		"a lock": {func(r *rig, branch string) {
			lock := filepath.Join(r.project, ".git", "refs", "heads", filepath.FromSlash(branch)+".lock")
			if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
				r.t.Fatal(err)
			}
			if err := os.WriteFile(lock, nil, 0o600); err != nil {
				r.t.Fatal(err)
			}
		}, ".lock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.script(simple())
			dir := r.prepare(quick)
			branch := r.state(dir).FeatureBranch
			c.block(r, branch)
			s := r.run(host.RunSpec{Dir: dir})
			if c.park != "" {
				mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonPushRejected)
				text := r.lastEvent(dir, orchestrator.EvNeedsHuman).Data.(orchestrator.NeedsHumanRecord).Text
				if !strings.Contains(text, c.park) || !strings.Contains(text, branch) {
					t.Errorf("the park says %q, want %q and the branch", text, c.park)
				}
				return
			}
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			if s.FeatureBranch != branch+"-2" || r.git("show", s.FeatureBranch+":a.txt") != "hello" {
				t.Errorf("its branch is %s", s.FeatureBranch)
			}
		})
	}
}

// TestAStartSaysWhatIsInTheWayOfItsBranch has no session made that could not be delivered.
func TestAStartSaysWhatIsInTheWayOfItsBranch(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.git("branch", "agentmux")
	project, err := r.host.Project(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := project.Base(t.Context(), r.config, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.host.Prepare(t.Context(), host.PrepareSpec{
		Project: project, Config: r.config, Files: os.DirFS(r.project), Source: "working tree", Base: base, Title: "greet", Request: "Greet.",
	})
	if err == nil || !strings.Contains(err.Error(), "agentmux/greet cannot be made beside the branch agentmux") {
		t.Errorf("prepared: %v", err)
	}
}

// A start that fails gives back at once what it had reserved, so that the next one can have it.
func TestAFailedStartReservesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	p, err := r.host.Project(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := p.Base(t.Context(), r.config, "")
	if err != nil {
		t.Fatal(err)
	}
	reg := register.Open(r.host.StateHome)
	const other = "0123456789abcdef"
	if ok, err := reg.Reserve(p.Store.Dir(), "feature/b", other); err != nil || !ok {
		t.Fatal(ok, err)
	}
	spec := host.PrepareSpec{
		Project: p, Config: r.config, Files: os.DirFS(r.project), Source: "working tree", Base: base, Name: "pair",
		Agents: []byte("session: pair\nagents:\n  - {name: a, branch: feature/a, task: t}\n  - {name: b, branch: feature/b, task: t}\n"),
	}
	if _, err := r.host.Prepare(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "feature/b was taken by another session") {
		t.Fatalf("the start: %v", err)
	}
	if id := reg.Holder(p.Store.Dir(), "feature/a"); id != "" {
		t.Errorf("feature/a is reserved for %s, which was not made", id)
	}
	if id := reg.Holder(p.Store.Dir(), "feature/b"); id != other {
		t.Errorf("feature/b is reserved for %q", id)
	}
	if err := reg.GiveBack(other); err != nil {
		t.Fatal(err)
	}
	sess, err := r.host.Prepare(t.Context(), spec)
	if err != nil {
		t.Fatalf("the next start: %v", err)
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	made := r.state(sess.Dir).Identity
	if err := reg.GiveBack(made); err != nil {
		t.Fatal(err)
	}
	if id := reg.Holder(p.Store.Dir(), "feature/a"); id != made {
		t.Errorf("feature/a of a session that was made is reserved for %q", id)
	}
}

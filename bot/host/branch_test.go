package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestTwoSessionsOfTheSameWordsHaveABranchEach has both prepared before either has made its
// branch.
func TestTwoSessionsOfTheSameWordsHaveABranchEach(t *testing.T) {
	t.Parallel()
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

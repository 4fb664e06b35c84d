package host_test

import (
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestABackupBehindThePushTakesWhatWasPushed goes back to the state before the completion, for
// work that was pushed, and for a branch that was made in the clone.
func TestABackupBehindThePushTakesWhatWasPushed(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	t.Run("pushed", func(t *testing.T) {
		t.Parallel()
		r := newGitHubRig(t, "")
		r.script(simple())
		dir, _ := r.issue("Greet", "Say hello.")
		first := r.runIssue(dir, host.RunSpec{})
		mustEnd(t, first, orchestrator.OutcomeDone, "")
		s := r.runIssue(dir, host.RunSpec{Resume: true, Backup: true})
		mustEnd(t, s, orchestrator.OutcomeDone, "")
		if tip := r.gitIn(r.repo.Dir(), "rev-parse", s.FeatureBranch); tip != first.Completion.Commit || s.Completion.Commit != tip {
			t.Errorf("the branch is at %s, the session at %s, before %s", tip, s.Completion.Commit, first.Completion.Commit)
		}
	})
	t.Run("in the clone", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, "")
		r.script(simple())
		dir := r.prepare(quick)
		first := r.run(host.RunSpec{Dir: dir})
		mustEnd(t, first, orchestrator.OutcomeDone, "")
		s := r.run(host.RunSpec{Dir: dir, Resume: true, Backup: true})
		mustEnd(t, s, orchestrator.OutcomeDone, "")
		if tip := r.git("rev-parse", s.FeatureBranch); tip != first.Completion.Commit || s.FeatureBranch != first.FeatureBranch {
			t.Errorf("%s is at %s, before %s at %s", s.FeatureBranch, tip, first.FeatureBranch, first.Completion.Commit)
		}
	})
}

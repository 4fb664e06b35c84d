package host_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// TestAWaitingSessionKeepsItsBase has the branch it started from rewritten, another session
// fetch that, and the garbage of the store collected. A session of a version that
// kept no base has it from the next time that it is hosted.
func TestAWaitingSessionKeepsItsBase(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, older := range map[string]bool{"from its start": false, "from an older version": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitHubRig(t, "")
			r.config.Limits.AgentRetries = 0
			sc := simple()
			sc.Gone = map[string]int{"planner": 9}
			r.script(sc)
			dir, _ := r.issue("Greet", "Say hello.")
			s := r.runIssue(dir, host.RunSpec{})
			mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled)
			hosts, _ := filepath.Glob(filepath.Join(r.root, "s", "*", "*", "*.git"))
			if len(hosts) != 1 {
				t.Fatalf("stores: %q", hosts)
			}
			if ref := r.startRef(hosts[0]); older && ref != "" {
				r.gitIn(hosts[0], "update-ref", "-d", ref)
				s = r.runIssue(dir, host.RunSpec{Resume: true})
				mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonAgentStalled)
			}
			r.rewriteMain()
			if b, err := r.base(t, ""); err != nil || b.SHA == s.BaseSHA {
				t.Fatalf("base %+v, %v", b, err)
			}
			r.gitIn(hosts[0], "gc", "--quiet", "--prune=now")
			r.script(simple())
			s = r.runIssue(dir, host.RunSpec{Resume: true})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			if _, err := r.host.Remove(t.Context(), dir, r.config); err != nil {
				t.Fatal(err)
			}
			if ref := r.startRef(hosts[0]); ref != "" {
				t.Errorf("%s is left of a removed session", ref)
			}
		})
	}
}

// startRef returns the ref that keeps the base of the only session; "" without one.
func (r *githubRig) startRef(repo string) string {
	r.t.Helper()
	return r.gitIn(repo, "for-each-ref", "--format=%(refname)", "refs/agentmux/start")
}

// rewriteMain makes main on the server a branch with no commit that it had.
func (r *githubRig) rewriteMain() {
	r.t.Helper()
	tree := r.gitIn(r.repo.Dir(), "rev-parse", "main^{tree}")
	commit := strings.TrimSpace(r.gitIn(r.repo.Dir(), "commit-tree", "-m", "Anew", tree))
	r.gitIn(r.repo.Dir(), "update-ref", "refs/heads/main", commit)
}

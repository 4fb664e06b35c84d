package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// TestSecurity36TheGateComparesWithWhatTheRecordsName has an agent of the same user move the
// refs of the last round to a commit of its own: what is in that would pass the gate unseen.
func TestSecurity36TheGateComparesWithWhatTheRecordsName(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for _, which := range []string{"own", "tip"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			r.script(simple())
			dir := r.prepare(quick)
			s := r.run(host.RunSpec{Dir: dir})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
			first := s.Completion.Commit
			repo := r.storeDir()
			inHost := func(args ...string) string {
				return strings.TrimSpace(r.gitIn(repo, append([]string{"-c", "user.name=x", "-c", "user.email=x@x.example"}, args...)...))
			}
			if err := os.WriteFile(filepath.Join(repo, "config"), []byte("[core]\n\tbare = true\n[http]\n\tproxy = http://127.0.0.1:1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			forged := inHost("commit-tree", first+"^{tree}", "-p", first, "-m", "unseen")
			inHost("update-ref", gitrepo.RoundRef(r.key(dir), 0, which), forged)
			sc := simple()
			sc.Plan, sc.Files = plan(onePart, "b.txt"), map[string][]string{"1": {"b.txt=more"}}
			r.script(sc)
			r.pulled(dir)
			s = r.run(host.RunSpec{Dir: dir, Resume: true, Changes: "Also write b."})
			mustEnd(t, s, orchestrator.OutcomeNeedsHuman, orchestrator.ReasonCommitRefused)
			records, err := os.ReadFile(filepath.Join(dir, session.EventsFile))
			if err != nil || !strings.Contains(string(records), "is at "+forged+", which no record of") {
				t.Errorf("the ref is not named: %v", err)
			}
			if got := r.git("rev-parse", s.FeatureBranch); got != first {
				t.Errorf("the branch went on to %s", got)
			}
			if !strings.Contains(string(records), `"path":"`+filepath.Join(repo, "config")+`"`) {
				t.Error("the file that somebody wrote is not recorded")
			}
			for ref, id := range map[string]string{"own": first, "tip": first} {
				inHost("update-ref", gitrepo.RoundRef(r.key(dir), 0, ref), id)
			}
			s = r.run(host.RunSpec{Dir: dir, Resume: true})
			mustEnd(t, s, orchestrator.OutcomeDone, "")
		})
	}
}

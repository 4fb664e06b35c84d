package host_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// A pull request that continues the branch of another agent goes to the base of the run where that branch is not on the server:
// it was never pushed, or people merged it and removed it while the later agent worked.
func TestAPullRequestIsNotStackedOnABranchThatIsNotThere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newGitHubRig(t, "")
	r.script(scenario{Files: map[string][]string{"words": {"words.txt=hello"}, "greeting": {"greeting.txt=world"}}})
	file := strings.NewReplacer("agents:\n", "on_complete: [push, pr]\nagents:\n", "    scope:", "    on_complete: []\n    scope:").Replace(twoAgents)
	dir := r.prepare(func(spec *host.PrepareSpec) {
		spec.Agents, spec.Request, spec.Name = []byte(file), "", "greet"
	})
	s := r.run(host.RunSpec{Dir: dir})
	pulls := r.repo.Pulls()
	if s.Outcome != orchestrator.OutcomeDone || len(pulls) != 1 || pulls[0].Head != "feature/greeting" || pulls[0].Base != "main" {
		t.Fatalf("outcome %s: %s; pull requests %+v", s.Outcome, s.Cause, pulls)
	}
	if p := s.Team["greeting"]; p.PRNumber != pulls[0].Number || p.Branch != "feature/greeting" {
		t.Errorf("progress %+v", p)
	}
}

package roster_test

import (
	"log/slog"
	"testing"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
)

// The branches of agents that are done come to the clone of the machine that has the run now. One that is there moves forward,
// another work of that name stays, and so does what an agent has not finished.
func TestBranchesOfAgentsThatAreDoneAreBrought(t *testing.T) {
	t.Parallel()
	r := repotest.New(t, map[string]string{"a": "1"})
	first := r.Commit(map[string]string{"a": "2"}, r.Base)
	second, theirs := r.Commit(map[string]string{"a": "3"}, first), r.Commit(map[string]string{"b": "1"}, r.Base)
	repotest.Git(t, r.Clone, "fetch", "-q", r.Store.Dir(), first+":refs/heads/behind", theirs+":refs/heads/taken")
	s := &orchestrator.State{SessionID: "shop", Team: map[string]agents.Progress{
		"fresh":  {Marker: "0", Commit: second, Branch: "fresh"},
		"behind": {Marker: "0", Commit: second, Branch: "behind"},
		"taken":  {Marker: "0", Commit: second, Branch: "taken"},
		"at it":  {Step: agents.StepPush, Commit: second, Branch: "at-it"},
		"failed": {Marker: "1", Commit: second, Branch: "failed"},
		"idle":   {Marker: "0"},
	}}
	p := &project.Project{Store: r.Store, Clone: clone.Clone{Root: r.Clone}}
	for range 2 { // a start that is killed does it again
		if err := roster.Bring(t.Context(), p, s, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	for branch, want := range map[string]string{"fresh": second, "behind": second, "taken": theirs} {
		if got := repotest.Git(t, r.Clone, "rev-parse", branch); got != want {
			t.Errorf("%s is at %s, want %s", branch, got, want)
		}
	}
	if got := repotest.Git(t, r.Clone, "for-each-ref", "--format=%(refname:short)", "refs/heads/at-it", "refs/heads/failed"); got != "" {
		t.Errorf("branches %q", got)
	}
}

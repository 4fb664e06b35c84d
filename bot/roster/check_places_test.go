package roster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session/register"
	"github.com/agentmux/agentmux/workflows/agents"
)

// A run has neither the branch that others start from, nor a branch or a directory that an agent of another run has or
// is to have: that one may begin much later.
func TestSecurity40ARunTakesNothingOfAnother(t *testing.T) {
	t.Parallel()
	r := repotest.New(t, map[string]string{"a": "1"})
	repotest.Git(t, r.Clone, "branch", "trunk")
	repotest.Git(t, r.Clone, "branch", "dev")
	repotest.Git(t, r.Clone, "worktree", "add", "-q", "-b", "f/tree", filepath.Join(t.TempDir(), "tree"))
	gone := filepath.Join(t.TempDir(), "gone")
	repotest.Git(t, r.Clone, "worktree", "add", "-q", "-b", "f/gone", gone)
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	p := &project.Project{Store: r.Store, Clone: clone.Clone{Root: r.Clone, Branch: "dev", DefaultBranch: "trunk"}}
	reg := register.Open(r.State)
	file := func(session, agent, branch string) *agents.Team {
		t.Helper()
		team, wrong := agents.Parse("a.yml", []byte("session: "+session+"\nagents:\n  - {name: "+agent+", branch: "+branch+", task: t}\n"), agents.Known{})
		if err := wrong.Err(); err != nil {
			t.Fatal(err)
		}
		return team
	}
	waiting := file("a-b", "c", "f/c")
	if err := roster.Reserve(reg, p, waiting, "0123456789abcdef"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		team   *agents.Team
		former string // identity
		want   string
	}{
		"another name":                 {team: file("a", "d", "f/d")},
		"the base":                     {team: file("a", "d", "main"), want: "main is a branch that others start from"},
		"the default branch":           {team: file("a", "d", "trunk"), want: "trunk is a branch that others start from"},
		"a branch that is checked out": {team: file("a", "d", "dev"), want: "dev is checked out in this clone"},
		"one of another work tree":     {team: file("a", "d", "f/tree"), want: "f/tree is checked out in "},
		"one of a tree that is gone":   {team: file("a", "d", "f/gone"), want: "git worktree prune"},
		"a branch of another run":      {team: file("a", "d", "f/c"), want: "f/c belongs to another session"},
		"a directory of another run":   {team: file("a", "b-c", "f/d"), want: "an agent of another session works in " + roster.Place(p, waiting, &waiting.Agents[0])},
		"that of the run it continues": {team: file("a-b", "c", "f/c"), former: "0123456789abcdef"},
	} {
		spec := roster.Spec{Project: p, Base: project.Base{Branch: "main", SHA: r.Base}, Team: c.team, Register: reg}
		if c.former != "" {
			spec.Former = &orchestrator.State{Identity: c.former}
		}
		problems, _, err := roster.Check(t.Context(), spec)
		if got := strings.Join(problems, "\n"); err != nil || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := roster.Reserve(reg, p, file("a", "b-c", "f/d"), "fedcba9876543210"); err == nil || !strings.Contains(err.Error(), "taken by another session") {
		t.Errorf("one directory for two: %v", err)
	}
}

package work_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// A workspace of a run of an agents file is made again beside the project, with the branches of those its agent depends on. What
// somebody else has at its place stays.
func TestSecurity37AWorkspaceIsMadeAgainWhereNothingElseIs(t *testing.T) {
	t.Parallel()
	r := repotest.New(t, map[string]string{"a": "1"})
	const file = "session: shop\nagents:\n  - {name: api, branch: f/api, task: t}\n  - {name: page, branch: f/page, task: t, depends_on: api}\n"
	team, problems := agents.Parse("a.yml", []byte(file), agents.Known{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := session.Create(session.CreateSpec{Project: t.TempDir(), Now: time.Now(), Name: "shop", Agents: []byte(file), State: orchestrator.State{
		Kind: orchestrator.KindAgents, BaseBranch: "main", BaseSHA: r.Base, Settings: orchestrator.DefaultSettings(), Phase: workflows.TeamPhase,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	s, err := sess.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	w := work.New(work.Options{StateHome: r.State, Now: time.Now, Log: slog.New(slog.DiscardHandler), Redactor: redact.New()}, work.Spec{
		Session: sess, State: s, Workflow: workflows.OfTeam(team), Config: &config.Config{}, Project: &project.Project{Store: r.Store, Clone: clone.Clone{Root: r.Clone}},
	})
	done := r.Commit(map[string]string{"b": "1"}, r.Base)
	tree := repotest.Git(t, r.Store.Dir(), "rev-parse", r.Commit(map[string]string{"a": "2"}, r.Base)+"^{tree}")
	again := orchestrator.Args{Workspace: "1.page", Visit: 1, Base: r.Base, Tree: tree, Sources: map[string]string{"f/api": done}}
	dir := filepath.Join(filepath.Dir(r.Clone), "shop-page")
	theirs := filepath.Join(dir, "kept.txt")
	repotest.Write(t, dir, map[string]string{"kept.txt": "kept"})
	if _, err := w.Restore(t.Context(), again); err == nil || !strings.Contains(err.Error(), dir+" is there already") {
		t.Errorf("over what somebody has: %v", err)
	}
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "kept" {
		t.Fatalf("it is gone: %q, %v", text, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	repotest.Write(t, dir+".making", map[string]string{"half.txt": "h"}) // of a start that was killed while it made the workspace
	for range 2 {                                                        // the second time over what a start made that was killed
		got, err := w.Restore(t.Context(), again)
		if err != nil || got != dir {
			t.Fatalf("made at %q, %v", got, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(text) != "2" {
		t.Errorf("a holds %q, %v", text, err)
	}
	if got := repotest.Git(t, dir, "rev-parse", "f/api"); got != done {
		t.Errorf("f/api is at %s", got)
	}
}

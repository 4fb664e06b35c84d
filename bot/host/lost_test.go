package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// TestAWorkspaceThatIsGoneIsMadeAgain removes those of a session while no host runs it: while
// its coder works, and while its work waits for a person. An earlier version kept one workspace
// for all work.
func TestAWorkspaceThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, park := range map[string]func(r *rig) string{
		"coding": func(r *rig) string {
			sc := simple()
			sc.Hold = map[string]bool{"coder/1": true}
			r.script(sc)
			dir := r.prepare(quick)
			stop := r.background(host.RunSpec{Dir: dir})
			r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
			if _, err := stop(engine.Signal{Name: "TERM"}); err != nil {
				r.t.Fatal(err)
			}
			r.script(simple())
			return dir
		},
		"parked": func(r *rig) string {
			r.config.Implement.ScopePolicy = "fail"
			sc := simple()
			sc.Files["1"] = append(sc.Files["1"], "other.txt=x")
			sc.Again = map[string]int{"coder/1": 2}
			r.script(sc)
			dir := r.prepare(quick)
			mustEnd(r.t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeNeedsHuman, orchestrator.ReasonScope)
			r.script(simple())
			return dir
		},
		"parked by an earlier version": func(r *rig) string {
			dir := r.parked()
			s := r.state(dir)
			s.Workspaces["session"] = orchestrator.Workspace{
				Path: filepath.Join(r.root, "s", "workspaces", r.key(dir), "session-2"), Base: s.Integrated.Commit, Visit: 2, Used: 2,
			}
			r.writeState(dir, s)
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			dir := park(r)
			if len(r.state(dir).Workspaces) == 0 {
				t.Fatal("the session has no workspace")
			}
			for _, w := range r.state(dir).Workspaces {
				if err := os.RemoveAll(filepath.Dir(w.Path)); err != nil {
					t.Fatal(err)
				}
			}
			spec := host.RunSpec{Dir: dir, Resume: true}
			if r.state(dir).Phase == orchestrator.PhaseDone {
				r.pulled(dir)
				spec.Changes = "Write more."
			}
			mustEnd(t, r.run(spec), orchestrator.OutcomeDone, "")
			if n := r.count(dir, orchestrator.EvWorkspaceLost); n == 0 {
				t.Error("no record tells that files were lost")
			}
		})
	}
}

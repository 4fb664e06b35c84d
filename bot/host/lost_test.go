package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// TestAWorkspaceThatIsGoneIsMadeAgain removes those of a session while nobody hosts it: while
// its coder works, and while its work waits for a person.
func TestAWorkspaceThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
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
		"parked": (*rig).parked,
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
			if name == "parked" {
				spec.Changes, spec.PROpen = "Write more.", true
			}
			mustEnd(t, r.run(spec), orchestrator.OutcomeDone, "")
			if n := r.count(dir, orchestrator.EvWorkspaceLost); n == 0 {
				t.Error("no record tells that files were lost")
			}
		})
	}
}

package host_test

import (
	"os/exec"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/place"
	"github.com/agentmux/agentmux/internal/gitrepo"
)

// A run that ends before it has begun anything leaves no tmux server with a monitor behind.
func TestARunThatDoesNotBeginLeavesNoServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	r.script(simple())
	dir := r.prepare(quick)
	p, err := r.host.Project(t.Context(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	st := r.state(dir)
	held := gitrepo.StartRef(place.Of(dir, st).String()) // no commit can be kept there once something is below it
	for _, args := range [][]string{{"-d", held}, {held + "/x", st.BaseSHA}} {
		if out, err := exec.Command("git", append([]string{"-C", p.Store.Dir(), "update-ref"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if _, err := r.host.Run(t.Context(), host.RunSpec{Dir: dir, Config: r.config}); err == nil {
		t.Fatal("the run began")
	}
	if pid, err := r.server(dir).PID(t.Context()); err == nil {
		t.Errorf("the tmux server %d was left", pid)
	}
}

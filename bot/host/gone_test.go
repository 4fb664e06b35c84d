package host_test

import (
	"os"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
)

// Who removes the directory of a running session ends it: no server, agent or monitor stays
// that nothing could find any more.
func TestASessionWhoseDirectoryIsRemovedLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	sc := simple()
	sc.Hold = map[string]bool{"coder/1": true}
	r.script(sc)
	dir := r.prepare(quick)
	server := r.server(dir)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder runs", func() bool { return r.started(dir, "2.coder.1.1") })
	r.eventually("at rest", func() bool { return len(r.state(dir).Pending) == 0 })
	if err := os.Rename(dir, r.root+"/away"); err != nil { // at once, unlike a removal
		t.Fatal(err)
	}
	if s, err := stop(nil); err == nil {
		t.Errorf("ended %+v", s)
	}
	if panes, err := server.Panes(t.Context()); err == nil {
		t.Errorf("panes are left: %+v", panes)
	}
}

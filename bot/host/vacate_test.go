package host_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// TestVacateKeepsTheSession has the workspaces of a session removed that was stopped while its coder was
// at work: what is nowhere else is kept, and the session stays.
func TestVacateKeepsTheSession(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(scenario{
		Plan: plan("  - {group_id: one, mode: serial, plans: [{index: 1, name: A}]}\n", "a.txt"), Hold: map[string]bool{"coder/1": true},
	})
	dir := r.prepare(nil)
	stop := r.background(host.RunSpec{Dir: dir})
	r.eventually("the coder is at work", func() bool { return r.started(dir, "3.coder.1.1") })
	workspace := r.state(dir).Workspaces["3.1"].Path
	if err := os.WriteFile(filepath.Join(workspace, "a.txt"), []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := stop(engine.Signal{Name: "interrupt"}); err != nil || !host.Removable(s) {
		t.Fatalf("phase %s, %v", s.Phase, err)
	}
	for range 2 { // the second time there is nothing to do
		if err := r.host.Vacate(t.Context(), dir, r.config); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(filepath.Dir(workspace)); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", filepath.Dir(workspace), err)
	}
	if s := r.state(dir); !host.Removable(s) {
		t.Errorf("phase %s", s.Phase)
	}
	key := r.key(dir)
	removed, err := r.host.Remove(t.Context(), dir, r.config)
	if err != nil {
		t.Fatal(err)
	}
	ref := "refs/agentmux/preserved/" + key + "/3.1"
	if got := r.git("--git-dir="+removed.Repo, "show", ref+":a.txt"); got != "half of it" {
		t.Errorf("%s has %q", ref, got)
	}
	if _, err := os.Lstat(dir); err == nil || !os.IsNotExist(err) {
		t.Errorf("%s: %v, want %v", dir, err, fs.ErrNotExist)
	}
}

package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
)

// spareInodes are the numbers of the whole workspaces that are ahead of their need.
func (r *rig) spareInodes(dir string) map[uint64]bool {
	r.t.Helper()
	found := map[uint64]bool{}
	bases, err := filepath.Glob(filepath.Join(r.root, "s", "workspaces", r.key(dir), "spare-*.base"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range bases {
		if info, err := os.Stat(strings.TrimSuffix(name, ".base")); err == nil {
			found[info.Sys().(*syscall.Stat_t).Ino] = true
		}
	}
	return found
}

// An agent gets a workspace that was made while the one before it worked, at the commit that is
// integrated by then; nothing of it is left at the end.
func TestAgentsGetWorkspacesThatWereMadeAhead(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	dir, stop := r.coding()
	var ahead map[uint64]bool
	r.eventually("a workspace for what follows", func() bool { ahead = r.spareInodes(dir); return len(ahead) == 1 })
	r.word()
	s, err := stop(nil)
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	reviewer := r.player("3.reviewer_logic.1")
	if !ahead[reviewer.Inode] {
		t.Errorf("the reviewer's workspace was made when it was asked for: %+v", reviewer)
	}
	if reviewer.Head != s.Integrated.Commit || strings.Contains(reviewer.Dir, "spare") {
		t.Errorf("the reviewer worked in %s at %s, want %s", reviewer.Dir, reviewer.Head, s.Integrated.Commit)
	}
	if left := names(t, filepath.Join(r.root, "s", "workspaces", r.key(dir))); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A host that lets go of a session leaves no spare, and the next one removes what a killed one
// has left.
func TestSparesGoWithTheirHost(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	dir, stop := r.coding()
	r.eventually("a workspace ahead", func() bool { return len(r.spareInodes(dir)) == 1 })
	if _, err := stop(errors.New("let go")); err == nil {
		t.Error("the run ended by itself")
	}
	if left := r.spareInodes(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	workspaces := filepath.Join(r.root, "s", "workspaces", r.key(dir))
	for _, name := range []string{"spare-1", "spare-2.making"} {
		if err := os.MkdirAll(filepath.Join(workspaces, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.word()
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
	if left := names(t, workspaces); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

package gitrepo_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// What a task needs for a moment lies where the next opening of the repository finds what
// a kill has left, and nowhere else.
func TestTemporaryFilesLieInTheRepository(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1\n"})
	w := r.Workspace("coder-1")
	repotest.Write(t, w, map[string]string{"b": "2\n"})
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent"))
	spec := r.Spec(w)
	spec.Live = true
	snap, err := workspace.Take(t.Context(), r.Store, spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := repotest.Summary(snap.Changes); got != "A b" {
		t.Errorf("changes %q", got)
	}
	tree, err := r.Store.BuildTree(t.Context(), map[string][]byte{"x": []byte("x")}, map[string]string{"work": snap.Tree})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Tree(tree); len(got) != 3 {
		t.Errorf("tree %v", got)
	}
	if _, err := r.Store.Filters(t.Context(), r.Base, []string{"a"}); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(r.Store.Dir(), "tmp")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestOpeningRemovesWhatAKillHasLeft(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1\n"})
	tmp := filepath.Join(r.Store.Dir(), "tmp")
	for name, age := range map[string]time.Duration{"index-1": 2 * time.Hour, "live-2": 2 * time.Hour, "blobs-3": time.Minute} {
		dir, at := filepath.Join(tmp, name), time.Now().Add(-age)
		repotest.Write(t, dir, map[string]string{"work/file": "text"})
		if err := errors.Join(os.Chmod(filepath.Join(dir, "work"), 0o500), os.Chtimes(dir, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	r.OpenStore()
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) != 1 || left[0].Name() != "blobs-3" {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := os.Chmod(filepath.Join(tmp, "blobs-3", "work"), 0o700); err != nil { // else only root could clean up
		t.Error(err)
	}
}

package gitrepo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// without makes git refuse a subcommand until the test ends.
func without(t *testing.T, subcommand string) {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nfor a; do [ \"$a\" = %s ] && exit 1; done\nexec %s \"$@\"\n", subcommand, repotest.RealGit)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func (r *rig) histories() []string {
	r.T.Helper()
	list, err := os.ReadDir(filepath.Join(r.Store.Dir(), "history"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.T.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func whole(t *testing.T, w, tip string) {
	t.Helper()
	if got := repotest.Git(t, w, "rev-parse", "HEAD"); got != tip {
		t.Errorf("%s: HEAD is %s, want %s", filepath.Base(w), got, tip)
	}
	if got := repotest.Git(t, w, "status", "--porcelain"); got != "" {
		t.Errorf("%s: %s", filepath.Base(w), got)
	}
	repotest.Git(t, w, "fsck", "--full", "--strict")
}

func TestAHistoryIsPackedOnce(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	repotest.Git(t, r.Clone, "tag", "light")
	r.Fetch("HEAD")
	whole(t, r.Workspace("first"), r.Base)
	if got := r.histories(); len(got) != 1 || got[0] != r.Base {
		t.Fatalf("kept: %v, want %s", got, r.Base)
	}
	whole(t, r.Workspace("tagged"), r.Base)
	repotest.Git(t, r.Store.Dir(), "update-ref", "-d", "refs/tags/light")
	t.Run("again", func(t *testing.T) {
		without(t, "pack-objects")
		whole(t, r.Workspace("second"), r.Base)
	})
	next := r.Commit(map[string]string{"b": "b\n"}, r.Base)
	w := filepath.Join(r.State, "next")
	if _, err := workspace.Make(t.Context(), r.Store, w, next); err != nil {
		t.Fatal(err)
	}
	whole(t, w, next)
	r.OpenStore() // nothing is known of whose parent is whose
	w = filepath.Join(r.State, "later")
	if _, err := workspace.Make(t.Context(), r.Store, w, next); err != nil {
		t.Fatal(err)
	}
	whole(t, w, next)
	if got := r.histories(); len(got) != 1 {
		t.Errorf("kept: %v", got)
	}
	if packs, err := filepath.Glob(filepath.Join(w, ".git", "objects", "pack", "*.pack")); err != nil || len(packs) != 2 {
		t.Errorf("packs %v, %v: want the kept one and that of what came after it", packs, err)
	}
	if err := r.Store.Collect(t.Context()); err != nil || len(r.histories()) != 0 {
		t.Errorf("after Collect: %v, %v", r.histories(), err)
	}
	whole(t, r.Workspace("third"), r.Base)
}

// A commit that is in no history of the other has nothing to do in its workspace.
func TestAKeptHistoryGoesToItsOwnLineOnly(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	side := r.Commit(map[string]string{"secret": "of another branch\n"}, r.Base)
	if err := os.RemoveAll(filepath.Join(r.Store.Dir(), "history")); err != nil { // that commit was made on the base
		t.Fatal(err)
	}
	w := filepath.Join(r.State, "side")
	if _, err := workspace.Make(t.Context(), r.Store, w, side); err != nil {
		t.Fatal(err)
	}
	if got := r.histories(); len(got) != 1 || got[0] != side {
		t.Fatalf("kept: %v, want %s", got, side)
	}
	w = r.Workspace("main")
	whole(t, w, r.Base)
	if all := repotest.Git(t, w, "cat-file", "--batch-all-objects", "--batch-check"); strings.Contains(all, side) {
		t.Errorf("a commit of another branch is there:\n%s", all)
	}
}

func TestADamagedHistoryIsMadeAgain(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	r.Workspace("first")
	packs, err := filepath.Glob(filepath.Join(r.Store.Dir(), "history", r.Base, "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	if err := errors.Join(os.Chmod(packs[0], 0o600), os.WriteFile(packs[0], make([]byte, 100), 0o600)); err != nil {
		t.Fatal(err)
	}
	whole(t, r.Workspace("second"), r.Base)
	whole(t, r.Workspace("third"), r.Base)
	if err := os.Remove(packs[0]); err != nil { // half of one
		t.Fatal(err)
	}
	whole(t, r.Workspace("fourth"), r.Base)
}

func TestTheHistoriesUsedLastAreKept(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	r.Workspace("base")
	var lines []string
	for i := range 4 {
		line := repotest.Git(t, r.Store.Dir(), "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", fmt.Sprint(i), r.Base+"^{tree}")
		lines = append(lines, line)
		at := time.Now().Add(-time.Hour + time.Duration(i)*time.Minute)
		for _, name := range r.histories() {
			if err := os.Chtimes(filepath.Join(r.Store.Dir(), "history", name), at, at); err != nil {
				t.Fatal(err)
			}
		}
		r.Workspace(fmt.Sprintf("base %d", i))
		if _, err := workspace.Make(t.Context(), r.Store, filepath.Join(r.State, line), line); err != nil {
			t.Fatal(err)
		}
	}
	got := fmt.Sprint(r.histories())
	if len(r.histories()) != 3 || !strings.Contains(got, r.Base) || !strings.Contains(got, lines[3]) {
		t.Errorf("kept: %s; want %s, %s and one more", got, r.Base, lines[3])
	}
	if left, err := os.ReadDir(filepath.Join(r.Store.Dir(), "tmp")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

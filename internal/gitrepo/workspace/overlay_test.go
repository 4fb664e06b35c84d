package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// Overlay makes a workspace hold a tree: what differs from its commit, and nothing outside of it.
func TestOverlayMakesTheFilesOfATree(t *testing.T) {
	t.Parallel()
	store, err := gitrepo.Open(t.Context(), filepath.Join(t.TempDir(), "store.git"))
	if err != nil {
		t.Fatal(err)
	}
	tree := func(files map[string]string) string {
		data := map[string][]byte{}
		for name, text := range files {
			data[name] = []byte(text)
		}
		id, err := store.BuildTree(t.Context(), data, nil)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := tree(map[string]string{"same": "1", "gone/deep/a": "1", "was/a/directory": "1", "was-a-file": "1", "old": "1"})
	// A link of the commit leads out of the workspace.
	outside := t.TempDir()
	link, err := store.BuildTree(t.Context(), map[string][]byte{"target": []byte(outside)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := store.Entries(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	first, err = store.Apply(t.Context(), first, []gitrepo.Change{{Path: "way", Status: 'A', NewMode: gitrepo.ModeSymlink, NewID: entries[0].ID}})
	if err != nil {
		t.Fatal(err)
	}
	base, err := store.Commit(t.Context(), gitrepo.CommitSpec{Tree: first, Message: "x", Author: gitrepo.Signature{Name: "a", Mail: "a@localhost"}, Date: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "w")
	if _, err := workspace.Make(t.Context(), store, dir, base); err != nil {
		t.Fatal(err)
	}
	want := tree(map[string]string{"same": "1", "was": "2", "was-a-file/a": "2", "new/deep/a": "2", "old": "2", "way/a": "2"})
	if err := workspace.Overlay(t.Context(), store, dir, base, want); err != nil {
		t.Fatal(err)
	}
	snap, err := workspace.Take(t.Context(), store, workspace.SnapshotSpec{Workspace: dir, Index: workspace.Index(dir), Base: base, MaxGrowth: 1 << 20, Live: true})
	if err != nil || snap.Tree != want {
		t.Errorf("holds %s and not %s, %v", snap.Tree, want, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "gone")); err == nil {
		t.Error("a directory without files stays")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside of the workspace: %v, %v", left, err)
	}
	// A tree with a link is refused.
	linked, err := store.Apply(t.Context(), want, []gitrepo.Change{{Path: "l", Status: 'A', NewMode: gitrepo.ModeSymlink, NewID: entries[0].ID}})
	if err != nil {
		t.Fatal(err)
	}
	if err := workspace.Overlay(t.Context(), store, dir, base, linked); err == nil {
		t.Error("a link is made")
	}
}

package gitrepo_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

func TestRestoreTakesPathsFromAnotherTree(t *testing.T) {
	clone := t.TempDir()
	git(t, clone, "init", "-q", "-b", "main")
	write(t, clone, map[string]string{"kept": "1", "changed": "1", "gone": "1", "dir/file": "1", "run": "#!x"})
	git(t, clone, "add", "-A")
	git(t, clone, "commit", "-q", "-m", "one")
	remove(t, clone, "gone", "dir")
	write(t, clone, map[string]string{"kept": "2", "changed": "2", "new": "2", "sp ace\tü": "2", "dir": "2", "run": "plain"})
	git(t, clone, "add", "-A")
	git(t, clone, "commit", "-q", "-m", "two")
	host, err := gitrepo.OpenHost(t.Context(), filepath.Join(t.TempDir(), "host.git"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := host.FetchClone(t.Context(), clone, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	one, err := host.Resolve(t.Context(), two+"^")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := host.Restore(t.Context(), two, one, []string{"changed", "gone", "new", "sp ace\tü", "dir/file", "dir", "run", "nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := host.Changes(t.Context(), one, tree)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	if !slices.Equal(paths, []string{"kept"}) {
		t.Errorf("still changed: %q", paths)
	}
}

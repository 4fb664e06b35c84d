package clone_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

func TestInspect(t *testing.T) {
	r := repotest.New(t, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n", ".gitignore": "*.log\n"})
	inspect := func() clone.Clone {
		t.Helper()
		c, err := clone.Inspect(t.Context(), r.Clone)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	root := repotest.Must(filepath.EvalSymlinks(r.Clone))
	if got, want := inspect(), (clone.Clone{Root: root, Head: r.Base, Branch: "main"}); got != want {
		t.Errorf("clean clone: %+v, want %+v", got, want)
	}
	upstream := filepath.Join(t.TempDir(), "up.git")
	repotest.Git(t, r.Clone, "clone", "-q", "--bare", ".", upstream)
	repotest.Git(t, r.Clone, "remote", "add", "origin", upstream)
	repotest.Git(t, r.Clone, "fetch", "-q", "origin")
	repotest.Git(t, r.Clone, "remote", "set-head", "origin", "main")
	repotest.Write(t, r.Clone, map[string]string{"d": "d\n"})
	repotest.Git(t, r.Clone, "add", "d")
	repotest.Git(t, r.Clone, "commit", "-q", "-m", "second")
	repotest.Write(t, r.Clone, map[string]string{"a": "changed\n", "b": "staged\n", "new/x": "x\n", "new/y": "y\n", "debug.log": "log\n"})
	repotest.Git(t, r.Clone, "add", "b")
	repotest.Remove(t, r.Clone, "c")
	head := repotest.Git(t, r.Clone, "rev-parse", "HEAD")
	got := inspect()
	want := clone.Clone{
		Root: root, Head: head, Branch: "main", Changed: 4, Unpushed: 1, Origin: upstream, DefaultBranch: "main",
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	repotest.Git(t, r.Clone, "checkout", "-q", "--detach")
	if got := inspect(); !got.Detached || got.Branch != "" || got.Head != head {
		t.Errorf("detached: %+v", got)
	}
	if sub, err := clone.Inspect(t.Context(), filepath.Join(r.Clone, "new")); err != nil || sub.Root != root {
		t.Errorf("from a directory below: %+v, %v", sub, err)
	}
}

// Files that a run reads where they are do not count as changed while git does not track them, whatever they are called.
func TestInspectLeavesOutWhatARunReads(t *testing.T) {
	r := repotest.New(t, map[string]string{"a": "a\n", "tracked.yml": "a\n"})
	repotest.Write(t, r.Clone, map[string]string{"teams/the [one] #1.yml": "a\n", "other.yml": "b\n", "tracked.yml": "b\n", "teams2/other.yml": "c\n", "below/shop.yml": "d\n"})
	for own, want := range map[string]int{
		"none": 5, "teams/the [one] #1.yml": 4, "other.yml": 4, "tracked.yml": 5, "../elsewhere.yml": 5, filepath.Join(r.Clone, "teams2", "other.yml"): 4,
	} {
		if got, err := clone.Inspect(t.Context(), r.Clone, own); err != nil || got.Changed != want {
			t.Errorf("without %s: %d changed, %v, want %d", own, got.Changed, err, want)
		}
	}
	if got, err := clone.Inspect(t.Context(), filepath.Join(r.Clone, "below"), "shop.yml"); err != nil || got.Changed != 4 {
		t.Errorf("from below: %d changed, %v", got.Changed, err)
	}
}

func TestInspectWithoutCommitAndOutside(t *testing.T) {
	dir := t.TempDir()
	bare := filepath.Join(t.TempDir(), "bare.git")
	repotest.Git(t, dir, "init", "-q", "--bare", bare)
	if _, err := clone.Inspect(t.Context(), bare); !errors.Is(err, clone.ErrBare) {
		t.Errorf("in a bare repository: %v", err)
	}
	if _, err := clone.Inspect(t.Context(), dir); !errors.Is(err, clone.ErrNotClone) {
		t.Errorf("outside: %v", err)
	}
	repotest.Git(t, dir, "init", "-q", "-b", "trunk")
	repotest.Write(t, dir, map[string]string{"a": "a\n"})
	repotest.Git(t, dir, "add", "a")
	got, err := clone.Inspect(t.Context(), dir)
	if err != nil || got.Head != "" || got.Branch != "trunk" || got.Changed != 1 {
		t.Errorf("without commit: %+v, %v", got, err)
	}
}

func TestSecurity9HostileCloneIsOnlyRead(t *testing.T) {
	r := repotest.New(t, map[string]string{"a": "a\n", "b": "b\n"})
	repotest.Git(t, r.Clone, "remote", "add", "origin", "https://example.test/o/r.git")
	marker := filepath.Join(t.TempDir(), "marker")
	repotest.Write(t, r.Clone, map[string]string{"a": "A\n", "c": "c\n"})
	repotest.Poison(t, r.Clone, marker)
	got, err := clone.Inspect(t.Context(), r.Clone)
	if err != nil || got.Changed != 2 {
		t.Errorf("inspect: %+v, %v", got, err)
	}
	other, err := gitrepo.Open(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.FetchClone(t.Context(), r.Clone, "main"); err != nil {
		t.Error(err)
	}
	sha := r.Commit(map[string]string{"d": "d\n"}, r.Base)
	if err := clone.Export(t.Context(), r.Store, r.Clone, "agentmux/x", sha); err != nil {
		t.Error(err)
	}
	repotest.Absent(t, marker)
	if got := repotest.Git(t, r.Clone, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "rev-parse", "agentmux/x"); got != sha {
		t.Errorf("exported branch is at %s", got)
	}
}

// A directory for temporary files that takes none is named, and not the clone.
func TestInspectNamesTheDirectoryForTemporaryFiles(t *testing.T) {
	r := repotest.New(t, map[string]string{"a": "a\n"})
	root := repotest.Must(filepath.EvalSymlinks(r.Clone))
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	repotest.Write(t, dir, map[string]string{"file": "x"})
	long := dir // a directory can be made in it, but git's files below that have names that are too long
	for len(long) < 4061 {
		long = filepath.Join(long, strings.Repeat("d", min(200, 4061-len(long))))
	}
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, temp := range map[string]string{"absent": filepath.Join(dir, "none"), "no directory": file, "git cannot write": long} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", temp)
			_, err := clone.Inspect(t.Context(), r.Clone)
			var want *clone.TempError
			if !errors.As(err, &want) || want.Dir != temp {
				t.Fatalf("%v", err)
			}
			if text := err.Error(); strings.Contains(text, "inspect "+root) || !strings.Contains(text, "written to "+temp+": ") || !strings.Contains(text, "TMPDIR") {
				t.Errorf("told: %s", text)
			}
		})
	}
}

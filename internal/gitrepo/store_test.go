package gitrepo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

func TestStorePath(t *testing.T) {
	if got, err := gitrepo.StorePath("/s", "github.com", "o", "r.x"); err != nil || got != "/s/github.com/o/r.x.git" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, bad := range map[string][3]string{
		"parent":          {"..", "o", "r"},
		"parent below":    {"h", "o/..", "r"},
		"empty":           {"h", "o", ""},
		"this directory":  {"h", ".", "r"},
		"name with space": {"h", "o", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := gitrepo.StorePath("/s", bad[0], bad[1], bad[2]); err == nil {
				t.Errorf("%q gives %q", bad, got)
			}
		})
	}
	if a, b := gitrepo.LocalStorePath("/s", "/a"), gitrepo.LocalStorePath("/s", "/b"); a == b || filepath.Dir(a) != "/s/local" {
		t.Errorf("local paths %q, %q", a, b)
	}
}

func TestOpenTwiceAndAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x", "h.git")
	done := make(chan error)
	for range 8 {
		go func() {
			h, err := gitrepo.Open(context.Background(), dir)
			if err == nil {
				_, err = h.WriteBlob(context.Background(), []byte("x"))
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if left := repotest.Must(os.ReadDir(filepath.Dir(dir))); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFetchCloneTakesAnyCommit(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	repotest.Git(t, r.Clone, "commit", "-q", "--allow-empty", "-m", "second")
	repotest.Git(t, r.Clone, "checkout", "-q", "--detach", "HEAD~1")
	repotest.Git(t, r.Clone, "commit", "-q", "--allow-empty", "-m", "detached")
	want := repotest.Git(t, r.Clone, "rev-parse", "HEAD")
	for range 2 {
		if got, err := r.Store.FetchClone(t.Context(), r.Clone, "HEAD"); err != nil || got != want {
			t.Errorf("got %s, %v", got, err)
		}
	}
	for _, rev := range []string{"nowhere", "--all", "HEAD^{tree}", "-h"} {
		if _, err := r.Store.FetchClone(t.Context(), r.Clone, rev); !errors.Is(err, gitrepo.ErrNoCommit) {
			t.Errorf("%q: %v", rev, err)
		}
	}
}

func TestFetchCloneRefusesAShallowClone(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	repotest.Git(t, r.Clone, "commit", "-q", "--allow-empty", "-m", "second")
	shallow := filepath.Join(t.TempDir(), "shallow")
	repotest.Git(t, r.Clone, "clone", "-q", "--depth=1", "file://"+r.Clone, shallow)
	h, err := gitrepo.Open(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.FetchClone(t.Context(), shallow, "HEAD"); !errors.Is(err, gitrepo.ErrShallow) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.Dir(), "shallow")); err == nil {
		t.Error("the store became shallow")
	}
}

func TestRefsMoveByCompareAndSwap(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	one := r.Commit(map[string]string{"b": "b\n"}, r.Base)
	two := r.Commit(map[string]string{"c": "c\n"}, r.Base)
	ctx := t.Context()
	for name, c := range map[string]struct {
		before, new, old string
		want             error
		at               string
	}{
		"absent, expected elsewhere":  {"", one, two, gitrepo.ErrMoved, ""},
		"absent, as expected":         {"", one, "", nil, one},
		"there already":               {one, one, "", nil, one},
		"there, expected absent":      {one, two, "", gitrepo.ErrMoved, one},
		"there, as expected":          {one, two, one, nil, two},
		"there, and expected at base": {two, one, r.Base, gitrepo.ErrMoved, two},
	} {
		t.Run(name, func(t *testing.T) {
			ref := "refs/agentmux/" + strings.NewReplacer(" ", "-", ",", "").Replace(name)
			if c.before != "" {
				if err := r.Store.UpdateRef(ctx, ref, c.before, ""); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Store.UpdateRef(ctx, ref, c.new, c.old); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if at := repotest.Must(r.Store.Ref(ctx, ref)); at != c.at {
				t.Errorf("ref at %q, want %q", at, c.at)
			}
		})
	}
	const ref = "refs/agentmux/x"
	if err := r.Store.UpdateRef(ctx, ref, two, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.DeleteRef(ctx, ref, one); !errors.Is(err, gitrepo.ErrMoved) {
		t.Errorf("deletion with an old value: %v", err)
	}
	for range 2 {
		if err := r.Store.DeleteRef(ctx, ref, two); err != nil {
			t.Error(err)
		}
	}
	for _, good := range []string{"refs/heads/ünï#1", "refs/heads/a=b,c(d)"} {
		if err := r.Store.UpdateRef(ctx, good, one, ""); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"HEAD", "refs/../x", "--stdin", "refs/heads/a b", "refs/heads/a..b", "refs/heads/x.lock", "refs/heads/", "refs/heads/a:b", "refs/heads/a\nb"} {
		if err := r.Store.UpdateRef(ctx, bad, one, ""); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestALockOfADeadGitIsRemoved(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	lock := filepath.Join(r.Store.Dir(), "refs", "agentmux", "x.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.UpdateRef(t.Context(), "refs/agentmux/x", r.Base, ""); err == nil || errors.Is(err, gitrepo.ErrMoved) {
		t.Errorf("with a fresh lock: %v", err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.UpdateRef(t.Context(), "refs/agentmux/x", r.Base, ""); err != nil {
		t.Errorf("with an old lock: %v", err)
	}
}

// While another git collects, there is nothing to do, which is not a failure.
func TestCollectLeavesItToAnotherProcess(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	host := repotest.Must(os.Hostname())
	other := filepath.Join(r.Store.Dir(), "gc.pid")
	if err := os.WriteFile(other, []byte(fmt.Sprintf("%d %s", os.Getpid(), host)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Store.Collect(t.Context()); err != nil {
		t.Error(err)
	}
	for _, broken := range []string{other, filepath.Join(r.Store.Dir(), "HEAD")} {
		if err := os.Remove(broken); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Store.Collect(t.Context()); err == nil {
		t.Error("a repository without HEAD was collected")
	}
}

func TestCommitIsDeterministic(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	spec := gitrepo.CommitSpec{
		Tree: gitrepo.EmptyTree, Message: "subject\n\nbody \"$(x)\"\n# kept\n", Author: gitrepo.Signature{Name: "A\nB <x>", Mail: "a@b"}, Date: repotest.Date,
	}
	one, two := repotest.Must(r.Store.Commit(t.Context(), spec)), repotest.Must(r.Store.Commit(t.Context(), spec))
	if one != two {
		t.Errorf("ids %s and %s", one, two)
	}
	if got := repotest.Must(r.Store.Message(t.Context(), one)); got+"\n" != spec.Message {
		t.Errorf("message is %q", got)
	}
	if raw := repotest.Git(t, r.Store.Dir(), "cat-file", "commit", one); !strings.Contains(raw, "author AB x <a@b> 1795255471 +0000\n") {
		t.Errorf("commit is %q", raw)
	}
}

func TestTreesAreBuiltAndChanged(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "d/b": "b\n", "d/c": "#!/bin/sh\n"})
	tree, err := r.Store.BuildTree(t.Context(), map[string][]byte{"session/state.json": []byte("{}"), "empty": nil}, map[string]string{"work/1": repotest.Must(r.Store.Tree(t.Context(), r.Base))})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"session/state.json": "100644 {}", "empty": "100644 ", "work/1/a": "100644 a\n", "work/1/d/b": "100644 b\n", "work/1/d/c": "100755 #!/bin/sh\n",
	}
	if got := r.Tree(tree); !maps.Equal(got, want) {
		t.Errorf("built %q", got)
	}
	next := r.Commit(map[string]string{"a": "A\n", "e": "e\n"}, r.Base)
	changes := repotest.Must(r.Store.Changes(t.Context(), r.Base, next))
	kept := changes[:0]
	for _, c := range changes {
		if c.Path != "e" {
			kept = append(kept, c)
		}
	}
	kept = append(kept, gitrepo.Change{Path: "d/b", Status: 'D'}, gitrepo.Change{Path: "d/c", Status: 'D'},
		gitrepo.Change{Path: "d", Status: 'A', NewMode: "100644", NewID: repotest.Must(r.Store.WriteBlob(t.Context(), []byte("file")))})
	applied, err := r.Store.Apply(t.Context(), r.Base, kept)
	want = map[string]string{"a": "100644 A\n", "d": "100644 file"}
	if got := r.Tree(applied); err != nil || !maps.Equal(got, want) {
		t.Errorf("applied %q, %v", got, err)
	}
}

func TestReading(t *testing.T) {
	r := newRig(t, map[string]string{"a b": "text\n", "*": "star\n", "d/x": "x\n"})
	if got, err := r.Store.File(t.Context(), r.Base, "*", 10); err != nil || string(got) != "star\n" {
		t.Errorf("file *: %q, %v", got, err)
	}
	if _, err := r.Store.File(t.Context(), r.Base, "d", 10); !errors.Is(err, gitrepo.ErrNoFile) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := r.Store.File(t.Context(), r.Base, "a b", 4); !errors.Is(err, gitrepo.ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
	next := r.Commit(map[string]string{"a b": "more\n", "bin": "\x00"}, r.Base)
	diff, err := r.Store.Diff(t.Context(), r.Base, next, 1<<20)
	if err != nil || !bytes.Contains(diff, []byte("-text\n+more\n")) || !bytes.Contains(diff, []byte("Binary files /dev/null and b/bin differ")) {
		t.Errorf("diff is %s, %v", diff, err)
	}
	stat, err := r.Store.DiffStat(t.Context(), r.Base, next)
	if err != nil || len(stat) != 2 || stat[0] != (gitrepo.Stat{Path: "a b", Added: 1, Removed: 1}) || !stat[1].Binary {
		t.Errorf("stat is %+v, %v", stat, err)
	}
	if one, err := r.Store.Diff(t.Context(), r.Base, next, 1<<20, "bin"); err != nil || bytes.Contains(one, []byte("a b")) {
		t.Errorf("diff of one path is %s, %v", one, err)
	}
}

package gitrepo_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

func TestHostPath(t *testing.T) {
	if got, err := gitrepo.HostPath("/s", "github.com", "o", "r.x"); err != nil || got != "/s/github.com/o/r.x.git" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range [][3]string{{"..", "o", "r"}, {"h", "o/..", "r"}, {"h", "o", ""}, {"h", ".", "r"}, {"h", "o", "a b"}} {
		if got, err := gitrepo.HostPath("/s", bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%q gives %q", bad, got)
		}
	}
	if a, b := gitrepo.LocalHostPath("/s", "/a"), gitrepo.LocalHostPath("/s", "/b"); a == b || filepath.Dir(a) != "/s/local" {
		t.Errorf("local paths %q, %q", a, b)
	}
}

func TestOpenHostTwiceAndAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x", "h.git")
	done := make(chan error)
	for range 8 {
		go func() {
			h, err := gitrepo.OpenHost(context.Background(), dir)
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
	if left := must(os.ReadDir(filepath.Dir(dir))); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFetchCloneTakesAnyCommit(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	git(t, r.clone, "commit", "-q", "--allow-empty", "-m", "second")
	git(t, r.clone, "checkout", "-q", "--detach", "HEAD~1")
	git(t, r.clone, "commit", "-q", "--allow-empty", "-m", "detached")
	want := git(t, r.clone, "rev-parse", "HEAD")
	for range 2 {
		if got, err := r.host.FetchClone(t.Context(), r.clone, "HEAD"); err != nil || got != want {
			t.Errorf("got %s, %v", got, err)
		}
	}
	for _, rev := range []string{"nowhere", "--all", "HEAD^{tree}", "-h"} {
		if _, err := r.host.FetchClone(t.Context(), r.clone, rev); !errors.Is(err, gitrepo.ErrNoCommit) {
			t.Errorf("%q: %v", rev, err)
		}
	}
}

func TestFetchCloneRefusesAShallowClone(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	git(t, r.clone, "commit", "-q", "--allow-empty", "-m", "second")
	shallow := filepath.Join(t.TempDir(), "shallow")
	git(t, r.clone, "clone", "-q", "--depth=1", "file://"+r.clone, shallow)
	h, err := gitrepo.OpenHost(t.Context(), filepath.Join(t.TempDir(), "h.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.FetchClone(t.Context(), shallow, "HEAD"); !errors.Is(err, gitrepo.ErrShallow) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.Dir(), "shallow")); err == nil {
		t.Error("the host repository became shallow")
	}
}

func TestRefsMoveByCompareAndSwap(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	one := r.commit(map[string]string{"b": "b\n"}, r.base)
	two := r.commit(map[string]string{"c": "c\n"}, r.base)
	const ref = "refs/agentmux/x"
	ctx := t.Context()
	steps := []struct {
		new, old string
		want     error
		at       string
	}{
		{one, two, gitrepo.ErrMoved, ""},
		{one, "", nil, one},
		{one, "", nil, one},
		{two, "", gitrepo.ErrMoved, one},
		{two, one, nil, two},
		{one, r.base, gitrepo.ErrMoved, two},
	}
	for i, s := range steps {
		if err := r.host.UpdateRef(ctx, ref, s.new, s.old); !errors.Is(err, s.want) {
			t.Errorf("step %d: %v, want %v", i, err, s.want)
		}
		if at := must(r.host.Ref(ctx, ref)); at != s.at {
			t.Errorf("step %d: ref at %q, want %q", i, at, s.at)
		}
	}
	if err := r.host.DeleteRef(ctx, ref, one); !errors.Is(err, gitrepo.ErrMoved) {
		t.Errorf("deletion with an old value: %v", err)
	}
	for range 2 {
		if err := r.host.DeleteRef(ctx, ref, two); err != nil {
			t.Error(err)
		}
	}
	for _, good := range []string{"refs/heads/ünï#1", "refs/heads/a=b,c(d)"} {
		if err := r.host.UpdateRef(ctx, good, one, ""); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"HEAD", "refs/../x", "--stdin", "refs/heads/a b", "refs/heads/a..b", "refs/heads/x.lock", "refs/heads/", "refs/heads/a:b", "refs/heads/a\nb"} {
		if err := r.host.UpdateRef(ctx, bad, one, ""); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestALockOfADeadGitIsRemoved(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	lock := filepath.Join(r.host.Dir(), "refs", "agentmux", "x.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.host.UpdateRef(t.Context(), "refs/agentmux/x", r.base, ""); err == nil || errors.Is(err, gitrepo.ErrMoved) {
		t.Errorf("with a fresh lock: %v", err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if err := r.host.UpdateRef(t.Context(), "refs/agentmux/x", r.base, ""); err != nil {
		t.Errorf("with an old lock: %v", err)
	}
}

func TestCommitIsDeterministic(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	spec := gitrepo.CommitSpec{
		Tree: gitrepo.EmptyTree, Message: "subject\n\nbody \"$(x)\"\n# kept\n", Author: gitrepo.Signature{Name: "A\nB <x>", Mail: "a@b"}, Date: aDate,
	}
	one, two := must(r.host.Commit(t.Context(), spec)), must(r.host.Commit(t.Context(), spec))
	if one != two {
		t.Errorf("ids %s and %s", one, two)
	}
	if got := must(r.host.Message(t.Context(), one)); got+"\n" != spec.Message {
		t.Errorf("message is %q", got)
	}
	if raw := git(t, r.host.Dir(), "cat-file", "commit", one); !strings.Contains(raw, "author AB x <a@b> 1795255471 +0000\n") {
		t.Errorf("commit is %q", raw)
	}
}

func TestTreesAreBuiltAndChanged(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "d/b": "b\n", "d/c": "#!/bin/sh\n"})
	tree, err := r.host.BuildTree(t.Context(), map[string][]byte{"session/state.json": []byte("{}"), "empty": nil}, map[string]string{"work/1": must(r.host.Tree(t.Context(), r.base))})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"session/state.json": "100644 {}", "empty": "100644 ", "work/1/a": "100644 a\n", "work/1/d/b": "100644 b\n", "work/1/d/c": "100755 #!/bin/sh\n",
	}
	if got := r.tree(tree); !maps.Equal(got, want) {
		t.Errorf("built %q", got)
	}
	next := r.commit(map[string]string{"a": "A\n", "e": "e\n"}, r.base)
	changes := must(r.host.Changes(t.Context(), r.base, next))
	kept := changes[:0]
	for _, c := range changes {
		if c.Path != "e" {
			kept = append(kept, c)
		}
	}
	kept = append(kept, gitrepo.Change{Path: "d/b", Status: 'D'}, gitrepo.Change{Path: "d/c", Status: 'D'},
		gitrepo.Change{Path: "d", Status: 'A', NewMode: "100644", NewID: must(r.host.WriteBlob(t.Context(), []byte("file")))})
	applied, err := r.host.Apply(t.Context(), r.base, kept)
	want = map[string]string{"a": "100644 A\n", "d": "100644 file"}
	if got := r.tree(applied); err != nil || !maps.Equal(got, want) {
		t.Errorf("applied %q, %v", got, err)
	}
}

func TestReading(t *testing.T) {
	r := newRig(t, map[string]string{"a b": "text\n", "*": "star\n", "d/x": "x\n"})
	if got, err := r.host.File(t.Context(), r.base, "*", 10); err != nil || string(got) != "star\n" {
		t.Errorf("file *: %q, %v", got, err)
	}
	if _, err := r.host.File(t.Context(), r.base, "d", 10); !errors.Is(err, gitrepo.ErrNoFile) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := r.host.File(t.Context(), r.base, "a b", 4); !errors.Is(err, gitrepo.ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
	next := r.commit(map[string]string{"a b": "more\n", "bin": "\x00"}, r.base)
	diff, err := r.host.Diff(t.Context(), r.base, next, 1<<20)
	if err != nil || !bytes.Contains(diff, []byte("-text\n+more\n")) || !bytes.Contains(diff, []byte("Binary files /dev/null and b/bin differ")) {
		t.Errorf("diff is %s, %v", diff, err)
	}
	stat, err := r.host.DiffStat(t.Context(), r.base, next)
	if err != nil || len(stat) != 2 || stat[0] != (gitrepo.Stat{Path: "a b", Added: 1, Removed: 1}) || !stat[1].Binary {
		t.Errorf("stat is %+v, %v", stat, err)
	}
	if one, err := r.host.Diff(t.Context(), r.base, next, 1<<20, "bin"); err != nil || bytes.Contains(one, []byte("a b")) {
		t.Errorf("diff of one path is %s, %v", one, err)
	}
}

func TestCancelEndsGit(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.workspace("x")
	ctx, cancel := context.WithCancel(t.Context())
	r.host.SetHook(func(point, _ string) {
		if point == "index" {
			cancel()
		}
	})
	if _, err := r.host.Snapshot(ctx, r.spec(w)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

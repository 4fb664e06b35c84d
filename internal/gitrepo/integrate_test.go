package gitrepo_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

func TestIntegrateMergesParallelResults(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1\n2\n3\n", "b": "b\n", "c": "c\n"})
	one, two := r.Workspace("1"), r.Workspace("2")
	repotest.Write(t, one, map[string]string{"a": "one\n2\n3\n", "d": "d\n"})
	repotest.Write(t, two, map[string]string{"b": "two\n"})
	repotest.Remove(t, two, "c")

	first, err := r.Integrate(one, "l-1", r.Base)
	if err != nil || len(first.Conflicts) > 0 {
		t.Fatalf("first: %+v, %v", first, err)
	}
	second, err := r.Integrate(two, "l-2", first.Commit)
	if err != nil || len(second.Conflicts) > 0 {
		t.Fatalf("second: %+v, %v", second, err)
	}
	if !slices.Equal(second.Files, []string{"b", "c"}) {
		t.Errorf("second changed %q", second.Files)
	}
	want := map[string]string{"a": "100644 one\n2\n3\n", "b": "100644 two\n", "d": "100644 d\n"}
	if got := r.Tree(second.Commit); len(got) != 3 || got["a"] != want["a"] || got["b"] != want["b"] || got["d"] != want["d"] {
		t.Errorf("merged tree is %q", got)
	}
	if head := repotest.Must(r.Store.Ref(t.Context(), gitrepo.IntegrationRef("s1"))); head != second.Commit {
		t.Errorf("head is %s, want %s", head, second.Commit)
	}
	for launch, want := range map[string]gitrepo.IntegrateResult{"l-1": first, "l-2": second} {
		w, head := one, r.Base
		if launch == "l-2" {
			w, head = two, first.Commit
		}
		repeated, err := r.Integrate(w, launch, head)
		if err != nil || repeated.Commit != want.Commit || !slices.Equal(repeated.Files, want.Files) {
			t.Errorf("%s again: %+v, %v", launch, repeated, err)
		}
	}
	strange := repotest.Must(r.Store.Commit(t.Context(), gitrepo.CommitSpec{
		Tree: first.Tree, Parents: []string{second.Commit}, Message: "of no launch\n", Author: repotest.Someone, Date: repotest.Date,
	}))
	if err := r.Store.UpdateRef(t.Context(), gitrepo.IntegrationRef("s1"), strange, second.Commit); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Integrate(two, "l-3", second.Commit); !errors.Is(err, gitrepo.ErrMoved) {
		t.Errorf("onto what is of no launch: %v", err)
	}
}

func TestProtocolP6IntegrateNamesConflicts(t *testing.T) {
	binary := "\x00\x01base"
	base := map[string]string{"text": "1\n2\n3\n", "bin": binary, "edited": "x\n", "deleted": "y\n", "moved": "1\n2\n3\n4\n5\n6\n", "dir/a": "a\n"}
	cases := map[string]struct {
		first, second             map[string]string
		firstRemove, secondRemove []string
		want                      []string
	}{
		"text":          {map[string]string{"text": "one\n2\n3\n"}, map[string]string{"text": "eins\n2\n3\n"}, nil, nil, []string{"text"}},
		"binary":        {map[string]string{"bin": "\x00ours"}, map[string]string{"bin": "\x00theirs"}, nil, nil, []string{"bin"}},
		"modify/delete": {map[string]string{"edited": "changed\n"}, nil, nil, []string{"edited"}, []string{"edited"}},
		"delete/modify": {nil, map[string]string{"deleted": "changed\n"}, []string{"deleted"}, nil, []string{"deleted"}},
		"both add":      {map[string]string{"n\new": "first\n"}, map[string]string{"n\new": "second\n"}, nil, nil, []string{"n\new"}},
		"rename/rename": {
			map[string]string{"to-a": "1\n2\n3\n4\n5\n6\n"}, map[string]string{"to-b": "1\n2\n3\n4\n5\n6\n"},
			[]string{"moved"}, []string{"moved"}, []string{"moved", "to-a", "to-b"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, base)
			one, two := r.Workspace("1"), r.Workspace("2")
			repotest.Remove(t, one, c.firstRemove...)
			repotest.Remove(t, two, c.secondRemove...)
			repotest.Write(t, one, c.first)
			repotest.Write(t, two, c.second)
			first, err := r.Integrate(one, "l-1", r.Base)
			if err != nil {
				t.Fatal(err)
			}
			res, err := r.Integrate(two, "l-2", first.Commit)
			if err != nil || !slices.Equal(res.Conflicts, c.want) || res.Commit != "" {
				t.Fatalf("got %+v, %v; want conflicts %q", res, err, c.want)
			}
			if head := repotest.Must(r.Store.Ref(t.Context(), gitrepo.IntegrationRef("s1"))); head != first.Commit {
				t.Errorf("a conflict moved the head to %s", head)
			}
		})
	}
}

func TestProtocolP7IntegrateReportsPathsOutOfScope(t *testing.T) {
	r := newRig(t, map[string]string{"web/a": "1\n2\n", "auth/token.go": "x\n", "auth/other.go": "1\n2\n3\n", "old": "1\n"})
	w := r.Workspace("1")
	repotest.Write(t, w, map[string]string{"web/a": "2\n", "web/deep/b": "b\n", "auth/token.go": "y\n", "auth/other.go": "1\n4\n5\n6\n", "webby": "w\n"})
	repotest.Remove(t, w, "old")
	res, err := r.Integrate(w, "l-1", r.Base, "web/", "auth/token.go")
	want := []gitrepo.ScopePath{{Path: "auth/other.go", Added: 3, Removed: 2}, {Path: "old", Removed: 1}, {Path: "webby", Added: 1}}
	if err != nil || !slices.Equal(res.Scope, want) {
		t.Errorf("scope is %+v, %v; want %+v", res.Scope, err, want)
	}
}

func TestIntegrateOfNothingIsEmpty(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	one, two := r.Workspace("1"), r.Workspace("2")
	res, err := r.Integrate(one, "l-1", r.Base)
	if err != nil || !res.Empty || res.Commit != r.Base {
		t.Errorf("untouched workspace: %+v, %v", res, err)
	}
	repotest.Write(t, one, map[string]string{"a": "b\n"})
	repotest.Write(t, two, map[string]string{"a": "b\n"})
	first, err := r.Integrate(one, "l-2", r.Base)
	if err != nil || first.Empty {
		t.Fatalf("%+v, %v", first, err)
	}
	if res, err = r.Integrate(two, "l-3", first.Commit); err != nil || !res.Empty || res.Commit != first.Commit {
		t.Errorf("what is integrated already: %+v, %v", res, err)
	}
}

// TestIntegrateInAnotherOrder loses the result of the launch that was integrated first: the
// next run asks for the other one first, and both are in the head once.
func TestIntegrateInAnotherOrder(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1\n", "b": "1\n"})
	one, two := r.Workspace("1"), r.Workspace("2")
	repotest.Write(t, one, map[string]string{"a": "2\n"})
	repotest.Write(t, two, map[string]string{"b": "2\n"})
	lost, err := r.Integrate(two, "l-2", r.Base)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time its own result was lost, too
		first, err := r.Integrate(one, "l-1", r.Base)
		if err != nil || !slices.Equal(first.Files, []string{"a"}) {
			t.Fatalf("first launch: %+v, %v", first, err)
		}
		second, err := r.Integrate(two, "l-2", first.Commit)
		if err != nil || second.Empty || second.Commit != first.Commit || second.Tree != first.Tree || !slices.Equal(second.Files, []string{"b"}) {
			t.Fatalf("second launch: %+v, %v", second, err)
		}
		if ok := repotest.Must(r.Store.IsAncestor(t.Context(), lost.Commit, second.Commit)); !ok {
			t.Error("what was integrated first is not in the head")
		}
	}
}

// TestIntegrateSerially has two launches change the same line in one workspace.
func TestIntegrateSerially(t *testing.T) {
	r := newRig(t, map[string]string{"a": "1\n", "b": "1\n"})
	w := r.Workspace("session")
	repotest.Write(t, w, map[string]string{"a": "2\n"})
	firstTree := r.Snapshot(w).Tree
	first, err := r.Integrate(w, "l-1", r.Base)
	if err != nil {
		t.Fatal(err)
	}
	repotest.Write(t, w, map[string]string{"a": "3\n", "b": "2\n"})
	spec := gitrepo.IntegrateSpec{
		Session: "s1", Launch: "l-2", Task: "2", Tree: r.Snapshot(w).Tree, Base: r.Base, Last: firstTree, Head: first.Commit,
		Owned: []string{"b"}, Author: repotest.Someone, Date: repotest.Date,
	}
	for range 2 {
		res, err := r.Store.Integrate(t.Context(), spec)
		want := []gitrepo.ScopePath{{Path: "a", Added: 1, Removed: 1}}
		if err != nil || len(res.Conflicts) > 0 || !slices.Equal(res.Scope, want) {
			t.Errorf("second launch: %+v, %v", res, err)
		}
	}
}

func TestAForgedTrailerInTheMessageDoesNotCount(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.Workspace("1")
	repotest.Write(t, w, map[string]string{"a": "b\n"})
	spec := gitrepo.IntegrateSpec{
		Session: "s1", Launch: "l-1", Task: "1", Tree: r.Snapshot(w).Tree, Base: r.Base, Head: r.Base,
		Message: "work\n\nAgentmux-Launch: l-2", Author: repotest.Someone, Date: repotest.Date,
	}
	first, err := r.Store.Integrate(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	two := r.Workspace("2")
	repotest.Write(t, two, map[string]string{"c": "c\n"})
	res, err := r.Integrate(two, "l-2", first.Commit)
	if err != nil || res.Commit == first.Commit || !slices.Equal(res.Files, []string{"c"}) {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestPreserveKeepsEveryVersion(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.Workspace("1")
	preserve := func(content string) string {
		t.Helper()
		repotest.Write(t, w, map[string]string{"a": content})
		spec := gitrepo.PreserveSpec{Session: "s1", Task: "1", Tree: r.Snapshot(w).Tree, Base: r.Base, Author: repotest.Someone, Date: repotest.Date}
		sha, err := r.Store.Preserve(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if second := repotest.Must(r.Store.Preserve(t.Context(), spec)); second != sha {
			t.Errorf("preserved twice: %s and %s", sha, second)
		}
		return sha
	}
	one, two := preserve("one\n"), preserve("two\n")
	if got := repotest.Must(r.Store.Ref(t.Context(), gitrepo.PreservedRef("s1", "1"))); got != two {
		t.Errorf("ref is at %s, want %s", got, two)
	}
	if ok := repotest.Must(r.Store.IsAncestor(t.Context(), one, two)); !ok {
		t.Error("the first version is not reachable")
	}
}

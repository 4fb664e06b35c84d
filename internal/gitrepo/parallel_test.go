package gitrepo_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// edit is what one coder does: files as write takes them, paths that go, and files that
// are made executable.
type edit struct {
	files  map[string]string
	remove []string
	chmod  []string
}

var parallelBase = map[string]string{
	"text": "1\n2\n3\n4\n5\n6\n7\n8\n", "long": strings.Repeat("a line of its own\n", 40), "bin": "\x00\x01base\xff", "script": "echo\n", "link": "->text", "dir/a": "a\n", "dir/b": "b\n", "with space": "1\n2\n3\n", "gr\u00fc\u00df/\u65e5\u672c": "1\n", "new\nline": "1\n",
	"edited": "x\n", "deleted": "y\n",
}

// TestParallelWorkIsMergedOrBothSidesAreKept has pairs of coders change the same base.
// Where want is nil the second merges, and merged are files of the result ("" is absent);
// else it conflicts in the paths of want, and what it made is kept under its ref.
func TestParallelWorkIsMergedOrBothSidesAreKept(t *testing.T) {
	long := parallelBase["long"]
	cases := map[string]struct {
		one, two edit
		want     []string
		merged   map[string]string
	}{
		"lines apart": {
			one:    edit{files: map[string]string{"text": "one\n2\n3\n4\n5\n6\n7\n8\n"}},
			two:    edit{files: map[string]string{"text": "1\n2\n3\n4\n5\n6\n7\ntwo\n"}},
			merged: map[string]string{"text": "100644 one\n2\n3\n4\n5\n6\n7\ntwo\n"},
		},
		"overlapping lines": {
			one:  edit{files: map[string]string{"text": "1\none\none\n4\n5\n6\n7\n8\n"}},
			two:  edit{files: map[string]string{"text": "1\n2\ntwo\ntwo\n5\n6\n7\n8\n"}},
			want: []string{"text"},
		},
		"the same lines": {
			one:    edit{files: map[string]string{"text": "same\n"}},
			two:    edit{files: map[string]string{"text": "same\n", "more": "m\n"}},
			merged: map[string]string{"text": "100644 same\n", "more": "100644 m\n"},
		},
		"rename against edit": {
			one:    edit{files: map[string]string{"moved/long": long}, remove: []string{"long"}},
			two:    edit{files: map[string]string{"long": "first\n" + long}},
			merged: map[string]string{"moved/long": "100644 first\n" + long, "long": ""},
		},
		"edit against rename": {
			one:    edit{files: map[string]string{"long": long + "last\n"}},
			two:    edit{files: map[string]string{"moved/long": long}, remove: []string{"long"}},
			merged: map[string]string{"moved/long": "100644 " + long + "last\n", "long": ""},
		},
		"rename against rename": {
			one:  edit{files: map[string]string{"here": long}, remove: []string{"long"}},
			two:  edit{files: map[string]string{"there": long}, remove: []string{"long"}},
			want: []string{"here", "long", "there"},
		},
		"two renames to one name": {
			one:  edit{files: map[string]string{"target": long}, remove: []string{"long"}},
			two:  edit{files: map[string]string{"target": parallelBase["text"]}, remove: []string{"text"}},
			want: []string{"target"},
		},
		"edit against deletion": {
			one: edit{files: map[string]string{"edited": "changed\n"}}, two: edit{remove: []string{"edited"}}, want: []string{"edited"},
		},
		"deletion against edit": {
			one: edit{remove: []string{"deleted"}}, two: edit{files: map[string]string{"deleted": "changed\n"}}, want: []string{"deleted"},
		},
		"both delete": {
			one: edit{remove: []string{"deleted"}}, two: edit{files: map[string]string{"n": "n\n"}, remove: []string{"deleted"}},
			merged: map[string]string{"deleted": "", "n": "100644 n\n"},
		},
		"binary": {
			one:  edit{files: map[string]string{"bin": "\x00one\xff"}},
			two:  edit{files: map[string]string{"bin": "\x00two\xff"}},
			want: []string{"bin"},
		},
		"executable bit against content": {
			one:    edit{chmod: []string{"script"}},
			two:    edit{files: map[string]string{"script": "echo two\n"}},
			merged: map[string]string{"script": "100755 echo two\n"},
		},
		"content against executable bit": {
			one:    edit{files: map[string]string{"script": "echo one\n"}},
			two:    edit{chmod: []string{"script"}},
			merged: map[string]string{"script": "100755 echo one\n"},
		},
		"link against link": {
			one: edit{files: map[string]string{"link": "->bin"}}, two: edit{files: map[string]string{"link": "->dir/a"}}, want: []string{"link"},
		},
		"file becomes link against edit": {
			one:  edit{files: map[string]string{"text": "->bin"}},
			two:  edit{files: map[string]string{"text": "two\n"}},
			want: []string{"text"},
		},
		"directory becomes file against file in it": {
			one: edit{files: map[string]string{"dir": "a file now\n"}, remove: []string{"dir"}},
			two: edit{files: map[string]string{"dir/c": "c\n"}}, want: []string{"dir"},
		},
		"odd names": {
			one:  edit{files: map[string]string{"with space": "one\n2\n3\n", "gr\u00fc\u00df/\u65e5\u672c": "one\n", "new\nline": "one\n", ":(top)x": "one\n"}},
			two:  edit{files: map[string]string{"with space": "two\n2\n3\n", "gr\u00fc\u00df/\u65e5\u672c": "two\n", "new\nline": "two\n", ":(top)x": "two\n"}},
			want: []string{":(top)x", "gr\u00fc\u00df/\u65e5\u672c", "new\nline", "with space"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, parallelBase)
			one, two := r.coder("1", c.one), r.coder("2", c.two)
			first, err := r.Integrate(one, "l-1", r.Base)
			if err != nil || len(first.Conflicts) > 0 {
				t.Fatalf("first: %+v, %v", first, err)
			}
			res, err := r.Integrate(two, "l-2", first.Commit)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.want) == 0 {
				got := r.Tree(res.Commit)
				for p, want := range c.merged {
					if got[p] != want {
						t.Errorf("%q is %q, want %q; conflicts %q", p, got[p], want, res.Conflicts)
					}
				}
				return
			}
			if missing := slices.DeleteFunc(slices.Clone(c.want), func(p string) bool { return named(res.Conflicts, p) }); len(missing) > 0 {
				t.Errorf("conflicts %q do not name %q", res.Conflicts, missing)
			}
			r.bothKept(two, "2", first)
		})
	}
}

// named reports whether a path, or what git calls it while both sides want the name, is
// in the list.
func named(list []string, p string) bool {
	return slices.ContainsFunc(list, func(q string) bool { return q == p || strings.HasPrefix(q, p+"~") || strings.HasPrefix(q, p+"/") })
}

// coder makes a workspace at the rig's base and changes it.
func (r *rig) coder(task string, e edit) string {
	r.T.Helper()
	w := r.Workspace(task)
	repotest.Remove(r.T, w, e.remove...)
	repotest.Write(r.T, w, e.files)
	for _, name := range e.chmod {
		if err := os.Chmod(filepath.Join(w, name), 0o755); err != nil {
			r.T.Fatal(err)
		}
	}
	return w
}

// bothKept preserves the work of a task that conflicts and compares what the refs hold:
// the head is what it was, and every file of the task is under its ref.
func (r *rig) bothKept(w, task string, head gitrepo.IntegrateResult) string {
	r.T.Helper()
	snap := r.Snapshot(w)
	sha, err := r.Store.Preserve(r.T.Context(), gitrepo.PreserveSpec{
		Session: "s1", Task: task, Tree: snap.Tree, Base: r.Base, Author: repotest.Someone, Date: repotest.Date,
	})
	if err != nil {
		r.T.Fatal(err)
	}
	if now := repotest.Must(r.Store.Ref(r.T.Context(), gitrepo.IntegrationRef("s1"))); now != head.Commit {
		r.T.Errorf("a conflict moved the head to %s", now)
	}
	kept := repotest.Must(r.Store.Ref(r.T.Context(), gitrepo.PreservedRef("s1", task)))
	if kept != sha || !maps.Equal(r.Tree(kept), r.Tree(snap.Tree)) {
		r.T.Errorf("kept under its ref: %s with %q", kept, r.Tree(kept))
	}
	return sha
}

// TestThreeCodersInConflict has three coders change one line at once. One wins, the others
// are kept, and each is resolved on top of what is there by then.
func TestThreeCodersInConflict(t *testing.T) {
	r := newRig(t, map[string]string{"shared": "base\n", "other": "o\n"})
	lines := map[string]string{"1": "one\n", "2": "two\n", "3": "three\n"}
	works := map[string]string{}
	for task, text := range lines {
		works[task] = r.coder(task, edit{files: map[string]string{"shared": text, "own" + task: text}})
	}
	head, err := r.Integrate(works["1"], "l-1", r.Base)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, task := range []string{"2", "3"} {
		res, err := r.Integrate(works[task], "l-"+task, head.Commit)
		if err != nil || !slices.Equal(res.Conflicts, []string{"shared"}) {
			t.Fatalf("coder %s: %+v, %v", task, res, err)
		}
		kept[task] = r.bothKept(works[task], task, head)
	}
	for _, task := range []string{"2", "3"} {
		base := head.Commit
		w := r.WorkspaceAt("resolve-"+task, base)
		shared, err := os.ReadFile(filepath.Join(w, "shared"))
		if err != nil {
			t.Fatal(err)
		}
		repotest.Write(t, w, map[string]string{"shared": string(shared) + lines[task], "own" + task: lines[task]})
		snap, err := workspace.Take(t.Context(), r.Store, workspace.SnapshotSpec{Workspace: w, Index: workspace.Index(w), Base: base})
		if err != nil {
			t.Fatal(err)
		}
		head, err = r.Store.Integrate(t.Context(), gitrepo.IntegrateSpec{
			Session: "s1", Launch: "r-" + task, Task: "resolve-" + task, Tree: snap.Tree, Base: base, Head: base, Author: repotest.Someone, Date: repotest.Date,
		})
		if err != nil || len(head.Conflicts) > 0 {
			t.Fatalf("resolve %s: %+v, %v", task, head, err)
		}
	}
	want := map[string]string{
		"shared": "100644 one\ntwo\nthree\n", "other": "100644 o\n", "own1": "100644 one\n", "own2": "100644 two\n", "own3": "100644 three\n",
	}
	if got := r.Tree(head.Commit); !maps.Equal(got, want) {
		t.Errorf("in the end: %q", got)
	}
	for task, sha := range kept {
		if now := repotest.Must(r.Store.Ref(t.Context(), gitrepo.PreservedRef("s1", task))); now != sha {
			t.Errorf("the work of %s is at %q, want %s", task, now, sha)
		}
	}
}

// TestManyFilesAreMerged has two coders make and change many files each.
func TestManyFilesAreMerged(t *testing.T) {
	n := sized(2000, 200)
	base, one, two := map[string]string{}, map[string]string{}, map[string]string{}
	for i := range n {
		base[fmt.Sprintf("src/%02d/f%04d", i%40, i)] = fmt.Sprintf("%d\n", i)
		one[fmt.Sprintf("src/%02d/f%04d", i%40, i)] = fmt.Sprintf("%d, changed\n", i)
		two[fmt.Sprintf("gen/%02d/g%04d", i%40, i)] = fmt.Sprintf("%d\n", i)
	}
	r := newRig(t, base)
	first, second := r.coder("1", edit{files: one}), r.coder("2", edit{files: two})
	started := time.Now()
	head, err := r.Integrate(first, "l-1", r.Base)
	if err != nil || len(head.Files) != n {
		t.Fatalf("%d files, %v", len(head.Files), err)
	}
	changed := time.Since(started)
	started = time.Now()
	res, err := r.Integrate(second, "l-2", head.Commit)
	if err != nil || len(res.Files) != n || len(res.Conflicts) > 0 {
		t.Fatalf("%d files, conflicts %q, %v", len(res.Files), res.Conflicts, err)
	}
	t.Logf("%d changed files: %s; %d new files and a merge: %s", n, changed, n, time.Since(started))
	if entries := repotest.Must(r.Store.Entries(t.Context(), res.Commit)); len(entries) != 2*n {
		t.Errorf("%d files in the end, want %d", len(entries), 2*n)
	}
}

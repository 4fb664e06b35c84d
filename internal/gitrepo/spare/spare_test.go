package spare_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/spare"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

type rig struct {
	*repotest.Rig
	made int
}

func newRig(t *testing.T, files map[string]string) *rig {
	return &rig{Rig: repotest.New(t, files)}
}

func (r *rig) place(name string) string { return filepath.Join(r.State, "workspaces", "s", name) }

// spareAt makes a spare.
func (r *rig) spareAt(commit string) string {
	r.T.Helper()
	r.made++
	return r.WorkspaceAt(fmt.Sprint("spare-", r.made), commit)
}

// take brings a spare to a commit and reports whether it served.
func (r *rig) take(from, name, commit string) (dir string, ok bool) {
	r.T.Helper()
	dir = r.place(name)
	ok, err := spare.Take(r.T.Context(), spare.Move{Store: r.Store, Spare: from, Dir: dir, Commit: commit})
	if err != nil {
		r.T.Fatal(err)
	}
	return dir, ok
}

// seen is all that a workspace shows to who works in it, and what its snapshots are judged by.
func (r *rig) seen(dir string) map[string]string {
	r.T.Helper()
	shown := map[string]string{}
	git := func(args ...string) { shown[strings.Join(args, " ")] = repotest.Git(r.T, dir, args...) }
	git("status", "--porcelain", "--branch", "--ignored")
	git("log", "--format=%H %P %an %s", "--decorate=full")
	git("for-each-ref")
	git("symbolic-ref", "HEAD")
	git("ls-files", "--stage")
	git("write-tree")
	git("reflog")
	git("fsck", "--strict", "--no-dangling")
	git("diff", "HEAD")
	git("config", "--local", "--list")
	for _, name := range []string{workspace.Index(dir), filepath.Join(dir, ".git", "index")} {
		shown["index "+filepath.Base(filepath.Dir(name))] = indexed(r.T, name)
	}
	shown["base"] = string(repotest.Must(os.ReadFile(dir + ".base")))
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		if err != nil || rel == ".git" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			text, err = os.Readlink(p)
		case d.Type().IsRegular():
			var data []byte
			data, err = os.ReadFile(p)
			text = string(data)
		}
		shown["file "+rel] = info.Mode().String() + " " + text
		return err
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return shown
}

// indexed is what git says of an index, but for the times and the numbers of the files.
func indexed(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	repotest.Git(t, dir, "init", "-q")
	if err := os.Link(name, filepath.Join(dir, ".git", "index")); err != nil {
		t.Fatal(err)
	}
	var keep []string
	for line := range strings.Lines(repotest.Git(t, dir, "ls-files", "--stage", "--debug")) {
		if !strings.Contains(line, "ctime:") && !strings.Contains(line, "mtime:") && !strings.Contains(line, "ino:") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

// same fails unless the spare that was brought is what a new workspace is.
func (r *rig) same(got, name, commit string) {
	r.T.Helper()
	want := r.seen(r.WorkspaceAt(name, commit))
	have := r.seen(got)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have[key] != want[key] {
			r.T.Errorf("%s:\n%q\nof a new workspace:\n%q", key, have[key], want[key])
		}
	}
	for key := range have {
		if _, ok := want[key]; !ok {
			r.T.Errorf("%s: %q, and nothing in a new workspace", key, have[key])
		}
	}
	if beside, _ := filepath.Glob(r.place("spare-*")); len(beside) > 0 {
		r.T.Errorf("left of the spare: %q", beside)
	}
}

// untouched fails unless a snapshot finds no change, and reads no file for it.
func (r *rig) untouched(dir, commit string) {
	r.T.Helper()
	spec := workspace.SnapshotSpec{Workspace: dir, Index: workspace.Index(dir), Base: commit, Live: true}
	snap, err := workspace.Take(r.T.Context(), r.Store, spec)
	if err != nil || len(snap.Changes) > 0 || snap.Tree != repotest.Must(r.Store.Tree(r.T.Context(), commit)) {
		r.T.Errorf("a snapshot of it: %+v, %v", snap, err)
	}
}

var base = map[string]string{
	"a": "a\n", "dir/b": "b\n", "dir/deep/c": "c\n", "dir/deep/d": "d\n", "run": "#!/bin/sh\n", "link": "->a", "gone/only": "x\n", "empty": "",
	"dir.txt": "t\n", "swap": "file\n", "swapped/x": "x\n", "bin": "\x00\xff",
}

// A spare of the wanted commit, and one that is brought there over one commit or several, are
// what a new workspace is.
func TestASpareBecomesWhatANewWorkspaceIs(t *testing.T) {
	one := newRig(t, base)
	repotest.Git(t, one.Clone, "tag", "v1") // of the very commit that the spare is at
	one.Fetch("HEAD")
	repotest.Git(t, one.Store.Dir(), "update-ref", "refs/tags/v1", one.Base)
	for name, commits := range map[string][]map[string]string{
		"at its commit":             nil,
		"a change":                  {{"a": "changed\n"}},
		"new and changed files":     {{"dir/new": "n\n", "dir/deep/c": "changed\n", "other/x/y": "y\n", "bin": "\x00\x01"}},
		"modes and links":           {{"run": "no program\n", "a": "#!/bin/sh\n", "link": "->dir", "dir/b": "->../a"}},
		"deletions":                 {{"gone/only": "-", "dir/deep/c": "-", "a": "-"}},
		"files against directories": {{"swap": "-", "swap/y": "y\n", "swapped/x": "-", "swapped": "file now\n"}},
		"several commits":           {{"a": "one\n", "dir/deep/c": "-"}, {"a": "two\n", "dir/deep/c": "again\n"}, {"b": "three\n"}},
		"there and back":            {{"a": "one\n"}, {"a": "a\n"}},
		"nothing":                   {{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{Rig: one.For(t)}
			from := r.spareAt(r.Base)
			commit := r.Base
			for i, files := range commits {
				commit = r.commit(fmt.Sprint(i), commit, files)
			}
			dir, ok := r.take(from, "1.coder", commit)
			if !ok {
				t.Fatal("the spare does not serve")
			}
			r.same(dir, "new", commit)
			r.untouched(dir, commit)
			if again, ok := r.take(from, "2.coder", commit); ok {
				t.Errorf("the same spare twice: %s", again)
			}
		})
	}
}

// commit makes one on top of another in the store. Content of "-" is a deletion.
func (r *rig) commit(name, on string, files map[string]string) string {
	r.T.Helper()
	w := r.WorkspaceAt("for-"+name, on)
	write := map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if files[p] == "-" {
			repotest.Remove(r.T, w, p)
			_ = os.Remove(filepath.Dir(filepath.Join(w, p))) // if it was the last file there
		}
	}
	for p, text := range files {
		if text != "-" {
			write[p] = text
		}
	}
	repotest.Write(r.T, w, write)
	snap, err := workspace.Take(r.T.Context(), r.Store, workspace.SnapshotSpec{Workspace: w, Index: workspace.Index(w), Base: on, Live: true})
	if err != nil {
		r.T.Fatal(err)
	}
	sha, err := r.Store.Commit(r.T.Context(), gitrepo.CommitSpec{Tree: snap.Tree, Parents: []string{on}, Message: "work " + name + "\n", Author: repotest.Someone, Date: repotest.Date})
	if err != nil {
		r.T.Fatal(err)
	}
	if err := workspace.Remove(w); err != nil {
		r.T.Fatal(err)
	}
	return sha
}

// Random work over several commits: each time the spare is what a new workspace is.
func TestSparesOverRandomWork(t *testing.T) {
	r := newRig(t, base)
	random := rand.New(rand.NewPCG(3, 4))
	names := []string{"a", "b", "dir/b", "dir/deep/c", "dir/deep/x", "dir/y", "x/y/z", "x/y.txt", "gone/only", "run", "link", "with space", "ünï"}
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		from := r.spareAt(r.Base)
		commit := r.Base
		odd := false
		for i := range 1 + random.IntN(3) {
			files := map[string]string{}
			for range 1 + random.IntN(6) {
				p := names[random.IntN(len(names))]
				odd = odd || p == "ünï"
				files[p] = []string{"-", fmt.Sprintf("%d\n", random.Int()), "#!/bin/sh\n", "->a"}[random.IntN(4)]
			}
			commit = r.commit(fmt.Sprint(round, ".", i), commit, files)
		}
		dir, ok := r.take(from, fmt.Sprint(round, ".coder"), commit)
		if !ok {
			if !odd {
				t.Fatalf("round %d: the spare does not serve", round)
			}
			if err := workspace.Remove(from); err != nil {
				t.Fatal(err)
			}
			continue
		}
		r.same(dir, fmt.Sprint("new", round), commit)
		r.untouched(dir, commit)
	}
}

// Where git would have its own way with a file, or the history is not one line, a spare of
// another commit does not serve and stays as it is; one of the wanted commit does.
func TestWhatIsLeftToGit(t *testing.T) {
	submodule := func(r *rig, on string) string {
		repotest.Git(r.T, r.Clone, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib")
		repotest.Git(r.T, r.Clone, "commit", "-q", "-m", "submodule")
		r.Fetch("HEAD")
		return r.Base
	}
	merge := func(r *rig, on string) string {
		one, two := r.commit("one", on, map[string]string{"a": "1\n"}), r.commit("two", on, map[string]string{"b": "2\n"})
		return repotest.Must(r.Store.Commit(r.T.Context(), gitrepo.CommitSpec{
			Tree: repotest.Must(r.Store.Tree(r.T.Context(), one)), Parents: []string{one, two}, Message: "merge\n", Author: repotest.Someone, Date: repotest.Date,
		}))
	}
	change := func(files map[string]string) func(r *rig, on string) string {
		return func(r *rig, on string) string { return r.commit("x", on, files) }
	}
	one := newRig(t, map[string]string{"a": "a\n"})
	for name, c := range map[string]struct {
		files map[string]string // none: those of one
		to    func(r *rig, on string) string
	}{
		"line ends":           {map[string]string{".gitattributes": "* text eol=crlf\n", "a": "a\n"}, change(map[string]string{"a": "b\n"})},
		"an encoding below":   {map[string]string{"dir/.gitattributes": "*.txt working-tree-encoding=UTF-16\n", "a": "a\n"}, change(map[string]string{"dir/b": "b\n"})},
		"ids":                 {map[string]string{".gitattributes": "*.c ident\n", "a": "a\n"}, change(map[string]string{"a.c": "$Id$\n"})},
		"changed attributes":  {nil, change(map[string]string{".gitattributes": "* -diff\n"})},
		"a submodule":         {map[string]string{"a": "a\n"}, submodule},
		"a merge":             {nil, merge},
		"a name of its own":   {nil, change(map[string]string{"b~1": "b\n"})},
		"a commit before":     {nil, func(r *rig, on string) string { return on }},
		"many changed files":  {nil, change(many(5001))},
		"a large file":        {nil, change(map[string]string{"large": strings.Repeat("large\n", 33<<20/6)})},
		"content of the LFS ": {nil, change(map[string]string{"a": "b\n"})},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{Rig: one.For(t)}
			if c.files != nil {
				r = newRig(t, c.files)
			}
			from := r.spareAt(r.Base)
			at := r.Base
			to := c.to(r, r.Base)
			if to == at {
				to, at = at, r.commit("later", at, map[string]string{"a": "later\n"})
				if err := workspace.Remove(from); err != nil {
					t.Fatal(err)
				}
				from = r.spareAt(at)
			}
			if strings.HasPrefix(name, "content") {
				if err := os.WriteFile(from+".lfs", []byte("0 0 x\x00"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := r.seen(from)
			if dir, ok := r.take(from, "1.coder", to); ok {
				t.Errorf("it was brought to %s", dir)
			}
			if now := r.seen(from); !maps.Equal(before, now) {
				t.Error("the spare has changed")
			}
			if left, _ := filepath.Glob(r.place("1.coder*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if _, ok := r.take(from, "2.coder", at); !ok {
				t.Error("it does not serve for its own commit")
			}
		})
	}
}

func many(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%d/f%d", i%50, i)] = "same\n"
	}
	return files
}

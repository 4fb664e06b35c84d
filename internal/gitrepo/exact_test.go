package gitrepo_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

// gits counts the calls of git that are made from now on.
func gits(t *testing.T) (calls func() []string) {
	t.Helper()
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	script := fmt.Sprintf("#!/bin/sh\nfor a; do case $a in *=*|-*) ;; *) echo \"$a\" >>%s; break;; esac; done\nexec %s \"$@\"\n", log, repotest.RealGit)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		data, _ := os.ReadFile(log) // absent: none
		_ = os.Remove(log)
		return strings.Fields(string(data))
	}
}

// A commit is what "git commit-tree" makes of the same words and names, also of those that it
// changes.
func TestCommitsAreThoseOfGit(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	tree := repotest.Must(r.Store.Tree(t.Context(), r.Base))
	second := repotest.Must(r.Store.Commit(t.Context(), gitrepo.CommitSpec{Tree: tree, Parents: []string{r.Base}, Message: "second", Author: repotest.Someone, Date: repotest.Date}))
	for name, c := range map[string]struct {
		spec  gitrepo.CommitSpec
		plain bool
	}{
		"plain":              {gitrepo.CommitSpec{Message: "words\n"}, true},
		"no line end":        {gitrepo.CommitSpec{Message: "words"}, true},
		"no words":           {gitrepo.CommitSpec{Message: ""}, true},
		"blank lines":        {gitrepo.CommitSpec{Message: "\n\n  words  \n\n\n# no comment\n"}, true},
		"beyond ASCII":       {gitrepo.CommitSpec{Message: "Grüße 日本\n", Author: gitrepo.Signature{Name: "Zoë Ünïcode", Mail: "zoë@example.test"}}, true},
		"another committer":  {gitrepo.CommitSpec{Message: "x\n", Committer: gitrepo.Signature{Name: "Bob", Mail: "bob@example.test"}}, true},
		"two parents":        {gitrepo.CommitSpec{Message: "x\n", Parents: []string{r.Base, second}}, true},
		"no parent":          {gitrepo.CommitSpec{Message: "x\n", Parents: []string{}}, true},
		"one parent twice":   {gitrepo.CommitSpec{Message: "x\n", Parents: []string{r.Base, r.Base}}, false},
		"dots at the end":    {gitrepo.CommitSpec{Message: "x\n", Author: gitrepo.Signature{Name: "Ada Jr.", Mail: "ada@example.test"}}, false},
		"brackets":           {gitrepo.CommitSpec{Message: "x\n", Author: gitrepo.Signature{Name: "A <d> a", Mail: "<ada@example.test>"}}, false},
		"quotes around":      {gitrepo.CommitSpec{Message: "x\n", Author: gitrepo.Signature{Name: "'Ada'", Mail: "ada@example.test"}}, false},
		"quotes within":      {gitrepo.CommitSpec{Message: "x\n", Author: gitrepo.Signature{Name: "A'da, B. C", Mail: "ada@example.test"}}, true},
		"lines in a name":    {gitrepo.CommitSpec{Message: "x\n", Author: gitrepo.Signature{Name: "Ada\nparent x", Mail: "ada@example.test\t"}}, true},
		"no valid encoding":  {gitrepo.CommitSpec{Message: "caf\xe9\n"}, false},
		"name badly encoded": {gitrepo.CommitSpec{Message: "x\n", Author: gitrepo.Signature{Name: "Caf\xe9", Mail: "ada@example.test"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := c.spec
			spec.Tree, spec.Date = tree, time.Unix(1_700_000_123, 999)
			if spec.Parents == nil {
				spec.Parents = []string{r.Base}
			}
			if spec.Author.Name == "" {
				spec.Author = repotest.Someone
			}
			calls := gits(t)
			got, err := r.Store.Commit(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if asked := calls(); (len(asked) == 0) != c.plain {
				t.Errorf("git ran %q", asked)
			}
			want := byGit(t, r, spec)
			if got != want {
				t.Errorf("%s\n%q\ngit makes %s\n%q", got, repotest.Git(t, r.Store.Dir(), "cat-file", "commit", got), want, repotest.Git(t, r.Store.Dir(), "cat-file", "commit", want))
			}
		})
	}
	absent := strings.Repeat("1", 40)
	for name, spec := range map[string]gitrepo.CommitSpec{
		"a NUL":              {Tree: tree, Message: "a\x00b"},
		"no name":            {Tree: tree, Message: "x", Author: gitrepo.Signature{Mail: "a@b"}},
		"a tree that is not": {Tree: absent, Message: "x"},
		"a commit as tree":   {Tree: absent, Message: "x"},
		"no such parent":     {Tree: tree, Message: "x", Parents: []string{absent}},
		"a tree as parent":   {Tree: tree, Message: "x", Parents: []string{tree}},
	} {
		if spec.Author == (gitrepo.Signature{}) {
			spec.Author = repotest.Someone
		}
		if id, err := r.Store.Commit(t.Context(), spec); err == nil {
			t.Errorf("%s was committed: %s", name, id)
		}
	}
}

// byGit has git make a commit.
func byGit(t *testing.T, r *rig, spec gitrepo.CommitSpec) string {
	t.Helper()
	committer := spec.Committer
	if committer.Name == "" {
		committer = spec.Author
	}
	// Without control characters, and with others in the place of bytes that are none.
	line := func(s string) string {
		return strings.ToValidUTF8(strings.NewReplacer("\n", "", "\t", "").Replace(s), "\ufffd")
	}
	date := fmt.Sprintf("@%d +0000", spec.Date.Unix())
	args := []string{"commit-tree", spec.Tree, "-F", filepath.Join(t.TempDir(), "message")}
	for _, p := range spec.Parents {
		args = append(args, "-p", p)
	}
	if err := os.WriteFile(args[3], []byte(spec.Message), 0o600); err != nil {
		t.Fatal(err)
	}
	script := "exec env GIT_AUTHOR_NAME=\"$1\" GIT_AUTHOR_EMAIL=\"$2\" GIT_COMMITTER_NAME=\"$3\" GIT_COMMITTER_EMAIL=\"$4\" GIT_AUTHOR_DATE=\"$5\" GIT_COMMITTER_DATE=\"$5\" git \"${@:6}\" 2>/dev/null"
	out := run(t, r.Store.Dir(), append([]string{"bash", "-c", script, "bash", line(spec.Author.Name), line(spec.Author.Mail), line(committer.Name), line(committer.Mail), date}, args...)...)
	return strings.TrimSpace(out)
}

// Trees are composed as git composes them, of random changes of files, types and directories.
func TestTreesAreComposedAsByGit(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	random := rand.New(rand.NewPCG(5, 6))
	names := []string{"a", "a.txt", "a-b", "a0", "b", "c"}
	blobs := []string{}
	for i := range 5 {
		blobs = append(blobs, repotest.Must(r.Store.WriteBlob(t.Context(), fmt.Appendf(nil, "%d\n", i))))
	}
	tree := gitrepo.EmptyTree
	for round := range sized(60, 20) {
		var changes []gitrepo.Change
		taken := map[string]bool{}
		for range 1 + random.IntN(8) {
			p := names[random.IntN(len(names))]
			for range random.IntN(3) {
				p += "/" + names[random.IntN(len(names))]
			}
			if within(taken, p) {
				continue
			}
			taken[p] = true
			c := gitrepo.Change{Path: p, Status: 'A', NewMode: []string{"100644", "100755", "120000"}[random.IntN(3)], NewID: blobs[random.IntN(len(blobs))]}
			if random.IntN(3) == 0 {
				c = gitrepo.Change{Path: p, Status: 'D'}
			}
			changes = append(changes, c)
		}
		got, err := r.Store.Apply(t.Context(), tree, changes)
		if err != nil {
			t.Fatal(err)
		}
		if want := applied(t, r, tree, changes); got != want {
			t.Fatalf("round %d: %+v\n%q\ngit makes\n%q", round, changes, repotest.Git(t, r.Store.Dir(), "ls-tree", "-r", got), repotest.Git(t, r.Store.Dir(), "ls-tree", "-r", want))
		}
		tree = got
	}
	repotest.Git(t, r.Store.Dir(), "fsck", "--strict", "--full")
}

// sized is how often something is done, and with -short.
func sized(often, short int) int {
	if testing.Short() {
		return short
	}
	return often
}

// within reports whether a path is one of taken, above or below one.
func within(taken map[string]bool, p string) bool {
	for q := range taken {
		if p == q || strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/") {
			return true
		}
	}
	return false
}

// applied has git change a tree.
func applied(t *testing.T, r *rig, tree string, changes []gitrepo.Change) string {
	t.Helper()
	var lines strings.Builder
	for _, c := range changes {
		if c.Status == 'D' {
			fmt.Fprintf(&lines, "0 %s\t%s\n", strings.Repeat("0", 40), c.Path)
		}
	}
	for _, c := range changes {
		if c.Status != 'D' {
			fmt.Fprintf(&lines, "%s %s\t%s\n", c.NewMode, c.NewID, c.Path)
		}
	}
	file := filepath.Join(t.TempDir(), "info")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(run(t, r.Store.Dir(), "bash", "-c",
		"export GIT_INDEX_FILE=\"$1.index\"; git read-tree \"$2\" && git update-index --index-info <\"$1\" && git write-tree", "bash", file, tree))
}

// Two sides of random changes are merged as git merges them. Most of those that have nothing to
// do with each other cost no process.
func TestSidesAreMergedAsByGit(t *testing.T) {
	base := map[string]string{}
	for i := range 12 {
		base[fmt.Sprintf("d%d/f%d", i%3, i)] = strings.Repeat(fmt.Sprintf("line %d of a file\n", i), 20)
	}
	random := rand.New(rand.NewPCG(7, 8))
	apart, clean := 0, 0
	calls := gits(t)
	for round := range sized(40, 12) {
		r := newRig(t, base)
		side := func(task string) edit {
			e := edit{files: map[string]string{}}
			kind := random.IntN(4)
			for range 1 + random.IntN(3) {
				p := slices.Sorted(maps.Keys(base))[random.IntN(len(base))]
				switch kind {
				case 0:
					e.files[p] = base[p] + task + "\n"
				case 1:
					e.files["new/"+task+fmt.Sprint(random.IntN(3))] = task + "\n"
				case 2:
					e.remove = append(e.remove, p)
				default: // moved, so that the other side's changes belong elsewhere
					e.remove = append(e.remove, p)
					e.files["moved/"+filepath.Base(p)] = base[p]
				}
			}
			return e
		}
		one, two := r.coder("1", side("one")), r.coder("2", side("two"))
		first, err := r.Integrate(one, "l-1", r.Base)
		if err != nil {
			t.Fatal(err)
		}
		if first.Commit == r.Base {
			continue
		}
		snap := r.Snapshot(two)
		calls()
		res, err := r.Store.Integrate(t.Context(), gitrepo.IntegrateSpec{
			Session: "s1", Launch: "l-2", Task: "2", Tree: snap.Tree, Base: r.Base, Head: first.Commit, Author: repotest.Someone, Date: repotest.Date,
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(calls(), "merge-tree") {
			apart++
		}
		theirs := repotest.Git(t, r.Store.Dir(), "commit-tree", snap.Tree, "-p", r.Base, "-m", "x")
		out := run(t, r.Store.Dir(), "bash", "-c", "git merge-tree --write-tree --name-only \"$@\" || echo conflict", "bash", first.Commit, theirs)
		if conflict := strings.HasSuffix(out, "conflict\n"); conflict != (len(res.Conflicts) > 0) {
			t.Fatalf("round %d: conflicts %q, git says %q", round, res.Conflicts, out)
		} else if !conflict {
			clean++
			if want := strings.TrimSpace(out); res.Tree != want && !res.Empty {
				t.Errorf("round %d: %v\ngit merges to %v", round, r.Tree(res.Tree), r.Tree(want))
			}
		}
	}
	if apart < sized(8, 3) || clean-apart < sized(4, 2) {
		t.Errorf("%d merges without a process, %d clean ones: the rounds try too little", apart, clean)
	}
}

// Filters are what git says of the attributes, wherever they are set.
func TestFiltersAreThoseOfGit(t *testing.T) {
	paths := []string{"a.bin", "dir/b.bin", "dir/deep/c.bin", "dir.txt", "other/x.txt"}
	for name, files := range map[string]map[string]string{
		"none":              {},
		"no filter":         {".gitattributes": "* text=auto\n*.bin -diff\n", "dir/.gitattributes": "*.bin binary\n"},
		"at the top":        {".gitattributes": "*.bin filter=lfs\n"},
		"below":             {"dir/deep/.gitattributes": "c.bin filter=lfs\n"},
		"beside":            {"unrelated/.gitattributes": "*.bin filter=lfs\n"},
		"taken back":        {".gitattributes": "*.bin filter=lfs\n", "dir/.gitattributes": "*.bin -filter\n", "dir/deep/.gitattributes": "c.bin !filter\n"},
		"by a macro":        {".gitattributes": "[attr]large filter=lfs\ndir/** large\n"},
		"in another's name": {".gitattributes": "*.bin myfilter=x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			all := maps.Clone(files)
			for _, p := range paths {
				all[p] = "x\n"
			}
			r := newRig(t, all)
			got, err := r.Store.Filters(t.Context(), r.Base, paths)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			out := run(t, r.Clone, append([]string{"git", "check-attr", "-z", "filter", "--"}, paths...)...)
			f := strings.Split(out, "\x00")
			for i := 0; i+2 < len(f); i += 3 {
				if f[i+2] != "unspecified" && f[i+2] != "unset" {
					want[f[i]] = f[i+2]
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%v, git says %v", got, want)
			}
		})
	}
}

// Names are those of a directory, wherever it is read from, and of each directory of several files.
func TestNamesOfADirectory(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "dir/b": "b\n", "dir/deep/c": "c\n", "dir.txt": "d\n"})
	names := map[string][]string{".": {"a", "dir.txt", "dir"}, "dir": {"b", "deep"}, "dir/deep": {"c"}, "a": nil, "nowhere": nil}
	for _, rev := range []string{r.Base, r.Base + "^{commit}"} { // git alone knows the second
		all, err := r.Store.NamesAlong(t.Context(), rev, "dir/new", "nowhere/x", "dir/deep/c", "a/x", "top")
		for dir, want := range names {
			if err != nil || !slices.Equal(all[dir], want) {
				t.Errorf("%s among several: %q, %v, want %q", dir, all, err, want)
			}
		}
	}
	for dir, want := range names {
		for _, rev := range []string{r.Base, r.Base + "^{commit}"} {
			along, err := r.Store.NamesAlong(t.Context(), rev, path.Join(dir, "file"))
			if got := along[dir]; err != nil || !slices.Equal(got, want) || !slices.Equal(along["."], []string{"a", "dir.txt", "dir"}) {
				t.Errorf("%s of %s: %q, %v, want %q", dir, rev, along, err, want)
			}
		}
	}
}

// What the everyday work of a session asks the store costs no process.
func TestEverydayWorkAsksNoGit(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "dir/b": "b\n"})
	w := r.Workspace("1")
	repotest.Write(t, w, map[string]string{"a": "changed\n", "dir/new": "n\n"})
	snap := r.Snapshot(w)
	reopened, err := gitrepo.Open(t.Context(), r.Store.Dir()) // knows nothing yet
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	calls := gits(t)
	for what, do := range map[string]func() error{
		"resolve": func() error { _, err := reopened.Resolve(ctx, r.Base); return err },
		"tree":    func() error { _, err := reopened.Tree(ctx, r.Base); return err },
		"changes": func() error { _, err := reopened.Changes(ctx, r.Base, snap.Tree); return err },
		"file":    func() error { _, err := reopened.File(ctx, snap.Tree, "dir/new", 10); return err },
		"no file": func() error {
			if _, err := reopened.File(ctx, r.Base, "dir/new", 10); !errors.Is(err, gitrepo.ErrNoFile) {
				return fmt.Errorf("found: %w", err)
			}
			return nil
		},
		"entries": func() error { _, err := reopened.Entries(ctx, snap.Tree); return err },
		"filters": func() error { _, err := reopened.Filters(ctx, r.Base, []string{"a"}); return err },
		"ref":     func() error { _, err := reopened.Ref(ctx, "refs/agentmux/none"); return err },
		"hold":    func() error { return reopened.Hold(ctx, "refs/agentmux/start/x", r.Base) },
		"tree made": func() error {
			_, err := reopened.BuildTree(ctx, map[string][]byte{"x": []byte("x")}, map[string]string{"w": snap.Tree})
			return err
		},
		"preserve": func() error {
			_, err := reopened.Preserve(ctx, gitrepo.PreserveSpec{Session: "s", Task: "1", Tree: snap.Tree, Base: r.Base, Author: repotest.Someone, Date: repotest.Date})
			return err
		},
		"integrate": func() error {
			_, err := reopened.Integrate(ctx, gitrepo.IntegrateSpec{Session: "s", Launch: "l", Task: "1", Tree: snap.Tree, Base: r.Base, Head: r.Base, Owned: []string{"a", "dir/"}, Author: repotest.Someone, Date: repotest.Date})
			return err
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if asked := calls(); len(asked) > 0 {
			t.Errorf("%s: git ran %q", what, asked)
		}
	}
}

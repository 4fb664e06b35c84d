package object_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

const large = 1 << 30

// person runs git in dir as a person would.
func person(t testing.TB, dir string, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.test",
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, errs.String())
	}
	return out
}

// repository is one that a person works in: random is what makes its content.
type repository struct {
	t      testing.TB
	dir    string
	random *rand.Rand
}

func newRepository(t testing.TB) *repository {
	t.Helper()
	r := &repository{t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(1, 2))}
	person(t, r.dir, nil, "init", "-q", "-b", "main")
	person(t, r.dir, nil, "config", "gc.auto", "0")
	return r
}

func (r *repository) database() *object.Database {
	return object.Open(filepath.Join(r.dir, ".git", "objects"))
}

// names are such that files take the places of directories and the other way around, and that
// the order of directories is not that of their names.
var names = []string{"a", "a.txt", "a-b", "a0", "b", "ünï", "with space", "new\nline"}

func (r *repository) path() string {
	var parts []string
	for range 1 + r.random.IntN(3) {
		parts = append(parts, names[r.random.IntN(len(names))])
	}
	return filepath.Join(parts...)
}

// change makes, changes, removes some files, and commits.
func (r *repository) change() string {
	r.t.Helper()
	for range 1 + r.random.IntN(12) {
		p := filepath.Join(r.dir, r.path())
		for dir := filepath.Dir(p); len(dir) > len(r.dir); dir = filepath.Dir(dir) {
			if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
				r.must(os.Remove(dir))
			}
		}
		r.must(os.RemoveAll(p))
		r.must(os.MkdirAll(filepath.Dir(p), 0o755))
		switch r.random.IntN(8) {
		case 0: // stays away
		case 1:
			r.must(os.Symlink("a", p))
		case 2:
			r.must(os.WriteFile(p, []byte("#!/bin/sh\n"), 0o755))
		case 3:
			r.must(os.WriteFile(p, nil, 0o644))
		default:
			text := strings.Repeat("a line that many files have\n", r.random.IntN(300))
			r.must(os.WriteFile(p, fmt.Appendf(nil, "%s%d\n%s", text, r.random.Int(), text), 0o644))
		}
	}
	grows := filepath.Join(r.dir, "grows")
	text, _ := os.ReadFile(grows) // absent at first
	r.must(os.WriteFile(grows, fmt.Appendf(text, "line %d\n", r.random.Int()), 0o644))
	person(r.t, r.dir, nil, "add", "-A")
	if r.random.IntN(4) == 0 {
		id := strings.Repeat(fmt.Sprintf("%04x", r.random.IntN(1<<16)), 10)
		person(r.t, r.dir, nil, "rm", "-rqf", "--cached", "--ignore-unmatch", "lib")
		person(r.t, r.dir, nil, "update-index", "--add", "--cacheinfo", "160000,"+id+",lib")
	}
	person(r.t, r.dir, nil, "commit", "-q", "--allow-empty", "-m", fmt.Sprint("change ", r.random.Int()))
	return r.head()
}

func (r *repository) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) head() string {
	r.t.Helper()
	return strings.TrimSpace(string(person(r.t, r.dir, nil, "rev-parse", "HEAD")))
}

// all are all objects as git reads them: "<type> <content>" by id.
func (r *repository) all() map[string]string {
	r.t.Helper()
	out := person(r.t, r.dir, nil, "cat-file", "--batch-all-objects", "--batch")
	list := map[string]string{}
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(head))
		size, err := strconv.Atoi(f[2])
		r.must(err)
		list[f[0]] = f[1] + " " + string(rest[:size])
		out = rest[size+1:]
	}
	return list
}

// compare holds what is read against what git reads.
func (r *repository) compare(db *object.Database) {
	r.t.Helper()
	want := r.all()
	one := db.Reader()
	defer one.Close()
	for id, content := range want {
		for _, read := range []func(string, int64) (string, []byte, error){db.Read, one.Read} {
			kind, data, err := read(id, large)
			if got := kind + " " + string(data); err != nil || got != content {
				r.t.Fatalf("%s: %d bytes of %s, %v; git reads %d", id, len(data), kind, err, len(content))
			}
		}
		kind, size, err := db.Stat(id)
		if got := fmt.Sprint(kind, " ", size); err != nil || got != fmt.Sprint(kind, " ", len(content)-len(kind)-1) {
			r.t.Fatalf("%s: %s, %v", id, got, err)
		}
		if size > 0 {
			if _, _, err := db.Read(id, size-1); !errors.Is(err, object.ErrTooLarge) {
				r.t.Fatalf("%s of %d bytes within %d: %v", id, size, size-1, err)
			}
		}
	}
}

// Loose objects, those of packs with deltas of both kinds, and those of packs that come and go
// while they are read, are what git says.
func TestObjectsAreReadAsGitReadsThem(t *testing.T) {
	r := newRepository(t)
	db := r.database()
	for range 10 {
		r.change()
	}
	person(t, r.dir, nil, "tag", "-a", "-m", "a tag", "v1")
	r.compare(db)
	if n := bytes.Count(person(t, r.dir, nil, "count-objects", "-v"), []byte("packs: 0")); n != 1 {
		t.Error("there are packs before any was made")
	}
	person(t, r.dir, nil, "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")
	if list := person(t, r.dir, nil, "verify-pack", "-v", r.pack()); !bytes.Contains(list, []byte("chain length = 2")) {
		t.Fatalf("no chains of deltas:\n%s", list)
	}
	r.compare(db)
	for range 10 {
		r.change()
	}
	person(t, r.dir, nil, "repack", "-q", "-d") // a second pack beside the first
	r.change()
	r.compare(db)
	person(t, r.dir, nil, "gc", "-q", "--prune=now") // one pack in the place of both
	r.compare(db)
	person(t, r.dir, nil, "-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f") // bases by their ids
	r.compare(db)
}

// pack is the index of the only pack.
func (r *repository) pack() string {
	r.t.Helper()
	list, err := filepath.Glob(filepath.Join(r.dir, ".git", "objects", "pack", "*.idx"))
	if err != nil || len(list) != 1 {
		r.t.Fatalf("packs %q, %v", list, err)
	}
	return list[0]
}

// An index with offsets of 64 bits, and one that is too large to be held in memory.
func TestLargeIndexes(t *testing.T) {
	r := newRepository(t)
	for i := range sized(3000, 600) {
		r.must(os.WriteFile(filepath.Join(r.dir, fmt.Sprint("f", i)), fmt.Appendf(nil, "%d\n", i), 0o644))
	}
	person(t, r.dir, nil, "add", "-A")
	person(t, r.dir, nil, "commit", "-q", "-m", "many")
	person(t, r.dir, nil, "-c", "pack.indexVersion=2", "repack", "-q", "-a", "-d")
	r.compare(r.database())
	idx := r.pack()
	r.must(os.Remove(idx))
	person(t, r.dir, nil, "index-pack", "--index-version=2,0x40", strings.TrimSuffix(idx, ".idx")+".pack")
	r.compare(r.database())
}

// What is not an object, or not one that this package reads, is left to git.
func TestWhatIsNotReadIsSaid(t *testing.T) {
	r := newRepository(t)
	head := r.change()
	db := r.database()
	for _, id := range []string{"", "HEAD", strings.Repeat("0", 40), strings.Repeat("0", 64), strings.Repeat("z", 40), head[:39] + "-"} {
		if _, _, err := db.Read(id, large); !errors.Is(err, object.ErrUnread) {
			t.Errorf("%q: %v", id, err)
		}
		if _, _, err := db.Stat(id); !errors.Is(err, object.ErrUnread) {
			t.Errorf("stat %q: %v", id, err)
		}
	}
	blob := strings.TrimSpace(string(person(t, r.dir, []byte("text\n"), "hash-object", "-w", "--stdin")))
	other := strings.TrimSpace(string(person(t, r.dir, []byte("other\n"), "hash-object", "-w", "--stdin")))
	file := func(id string) string { return filepath.Join(r.dir, ".git", "objects", id[:2], id[2:]) }
	data, err := os.ReadFile(file(other))
	r.must(err)
	for name, content := range map[string][]byte{"another object": data, "no zlib": []byte("text"), "nothing": nil, "half of it": data[:len(data)/2]} {
		r.must(os.Remove(file(blob)))
		r.must(os.WriteFile(file(blob), content, 0o644))
		if _, got, err := db.Read(blob, large); !errors.Is(err, object.ErrUnread) {
			t.Errorf("%s in its place: %q, %v", name, got, err)
		}
	}
}

// A pack with any byte changed gives the object or an error, never another object.
func TestDamagedPacksGiveNoOtherObject(t *testing.T) {
	r := newRepository(t)
	for range 4 {
		r.change()
	}
	person(t, r.dir, nil, "repack", "-q", "-a", "-d", "-f")
	want := r.all()
	name := strings.TrimSuffix(r.pack(), ".idx")
	for _, suffix := range []string{".pack", ".idx"} {
		whole, err := os.ReadFile(name + suffix)
		r.must(err)
		r.must(os.Chmod(name+suffix, 0o644))
		for i := 0; i < len(whole); i += 1 + len(whole)/sized(400, 80) {
			damaged := bytes.Clone(whole)
			damaged[i] ^= byte(1 << r.random.IntN(8))
			r.must(os.WriteFile(name+suffix, damaged, 0o644))
			one := r.database().Reader()
			for id, content := range want {
				kind, data, err := one.Read(id, large)
				if err == nil && kind+" "+string(data) != content {
					t.Errorf("byte %d of %s: %s is another object", i, suffix, id)
				}
				_, _, _ = one.Stat(id)
			}
			one.Close()
		}
		r.must(os.WriteFile(name+suffix, whole, 0o644))
	}
}

// What is read bit by bit is what is read at once: of loose objects and of whole ones of a pack. Others are named
// before anything is given away, and damage after it.
func TestStreamsGiveWhatReadsGive(t *testing.T) {
	r := newRepository(t)
	for range 4 {
		r.change()
	}
	streamed, stream := 0, func(db *object.Database, id string) (content string, called bool, err error) {
		err = db.Stream(id, func(from io.Reader) error {
			called = true
			data, err := io.ReadAll(from)
			content = string(data)
			return err
		})
		return content, called, err
	}
	for _, packed := range []bool{false, true} {
		if packed {
			person(t, r.dir, nil, "repack", "-q", "-a", "-d", "-f")
		}
		all, db, deltas := r.all(), r.database(), 0
		for id, want := range all {
			got, called, err := stream(db, id)
			kind, content, _ := strings.Cut(want, " ")
			switch {
			case err == nil && kind == object.Blob && got == content:
				streamed++
			case called || !errors.Is(err, object.ErrUnread) || kind == object.Blob && !packed:
				t.Errorf("%s, packed %v: %q, %v", kind, packed, got, err)
			case kind == object.Blob:
				deltas++
			}
		}
		if streamed == 0 || packed != (deltas > 0) {
			t.Errorf("packed %v: %d streams, %d deltas", packed, streamed, deltas)
		}
	}
	db := r.database()
	id, err := db.Write(object.Blob, []byte("one"))
	r.must(err)
	other, err := db.Write(object.Blob, []byte("two"))
	r.must(err)
	place := func(id string) string { return filepath.Join(r.dir, ".git", "objects", id[:2], id[2:]) }
	r.must(os.Rename(place(other), place(id)))
	if got, _, err := stream(db, id); err == nil || errors.Is(err, object.ErrUnread) {
		t.Errorf("another object: %q, %v", got, err)
	}
}

// A pack whose index has the places of two objects exchanged gives neither of them for the other.
func TestAnIndexThatExchangesObjectsGivesNeither(t *testing.T) {
	r := newRepository(t)
	r.change()
	person(t, r.dir, nil, "repack", "-q", "-a", "-d", "-f")
	want, name := r.all(), r.pack()
	index, err := os.ReadFile(name)
	r.must(err)
	const names = 8 + 256*4 // behind the header and the fan-out table; then come checksums, then places
	places := names + len(want)*(20+4)
	first, second := bytes.Clone(index[places:places+4]), index[places+4:places+8]
	copy(index[places:], second)
	copy(second, first)
	r.must(os.Chmod(name, 0o644))
	r.must(os.WriteFile(name, index, 0o644))
	one := r.database().Reader()
	defer one.Close()
	for i := range 2 {
		id := hex.EncodeToString(index[names+i*20:][:20])
		if kind, data, err := one.Read(id, large); err == nil {
			t.Errorf("%s is a %s of %d bytes", id, kind, len(data))
		}
	}
}

// What is written git takes for its own.
func TestObjectsAreWrittenForGit(t *testing.T) {
	r := newRepository(t)
	db := r.database()
	for _, data := range [][]byte{nil, []byte("text\n"), bytes.Repeat([]byte("long "), 1<<18), {0, 1, 2, 0}} {
		for range 2 {
			id, err := db.Write(object.Blob, data)
			if err != nil {
				t.Fatal(err)
			}
			if got := person(t, r.dir, nil, "cat-file", "blob", id); !bytes.Equal(got, data) {
				t.Errorf("%s: git reads %d bytes, written %d", id, len(got), len(data))
			}
			if want := strings.TrimSpace(string(person(t, r.dir, data, "hash-object", "--stdin"))); want != id {
				t.Errorf("id %s, git says %s", id, want)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(r.dir, ".git", "objects", "*", "tmp_*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	// One of a pack is not written a second time.
	head := r.change()
	person(t, r.dir, nil, "repack", "-q", "-a", "-d")
	_, data, err := db.Read(head, large)
	r.must(err)
	if id, err := db.Write(object.Commit, data); err != nil || id != head {
		t.Errorf("%s, %v", id, err)
	}
	if count := string(person(t, r.dir, nil, "count-objects")); !strings.HasPrefix(count, "4 ") {
		t.Errorf("loose objects beside those of the pack: %s", count)
	}
	person(t, r.dir, nil, "fsck", "--strict", "--full")
}

// A pack that is taken, and its index, are byte for byte what git makes of the same objects.
func TestAPackIsTakenAsGitTakesIt(t *testing.T) {
	r := newRepository(t)
	for range 3 {
		r.change()
	}
	other := t.TempDir()
	person(t, other, nil, "init", "-q", "--bare")
	db := object.Open(filepath.Join(other, "objects"))
	w, err := object.NewPack(filepath.Join(other, "made"))
	r.must(err)
	defer w.Close()
	for id, content := range r.all() {
		kind, data, _ := strings.Cut(content, " ")
		for range 2 {
			if got, err := w.Add(kind, []byte(data)); err != nil || hex.EncodeToString([]byte(got)) != id {
				t.Fatalf("%x for %s, %v", got, id, err)
			}
		}
	}
	f, err := w.Finish()
	r.must(err)
	byGit := filepath.Join(t.TempDir(), "copy.pack")
	data, err := os.ReadFile(f.Name())
	r.must(err)
	r.must(os.WriteFile(byGit, data, 0o644))
	person(t, other, nil, "index-pack", byGit)
	r.must(db.Take(w))
	packs, err := filepath.Glob(filepath.Join(other, "objects", "pack", "*"))
	if err != nil || len(packs) != 2 {
		t.Fatalf("in the directory of packs: %q, %v", packs, err)
	}
	for _, name := range packs {
		mine, err := os.ReadFile(name)
		r.must(err)
		gits, err := os.ReadFile(strings.TrimSuffix(byGit, ".pack") + filepath.Ext(name))
		r.must(err)
		if !bytes.Equal(mine, gits) {
			t.Errorf("%s differs from git's", filepath.Ext(name))
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o444 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if want := filepath.Base(packs[0]); !strings.Contains(want, hex.EncodeToString(data[len(data)-20:])) {
		t.Errorf("name %s", want)
	}
	if ids := strings.Fields(string(person(t, other, nil, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))); !slices.Equal(ids, slices.Sorted(maps.Keys(r.all()))) {
		t.Errorf("%d objects", len(ids))
	}
}

// Two trees are compared as git compares them, and walked as git walks them.
func TestTreesAreComparedAsGitComparesThem(t *testing.T) {
	r := newRepository(t)
	commits := []string{r.change()}
	for range sized(40, 15) {
		commits = append(commits, r.change())
	}
	one := r.database().Reader()
	defer one.Close()
	trees := map[string]string{} // of commits that git was asked of
	tree := func(commit string) string {
		id, err := one.TreeOf(commit)
		if err == nil && trees[commit] == id {
			return id
		}
		if want := strings.TrimSpace(string(person(t, r.dir, nil, "rev-parse", commit+"^{tree}"))); err != nil || id != want {
			t.Fatalf("tree %s of %s, %v", id, commit, err)
		}
		trees[commit] = id
		return id
	}
	kinds := map[byte]int{}
	for i := range commits {
		for _, k := range []int{i, max(i-1, 0), r.random.IntN(len(commits))} {
			list, err := one.Diff(tree(commits[i]), tree(commits[k]))
			r.must(err)
			var got strings.Builder
			for _, d := range list {
				fmt.Fprintf(&got, ":%06o %06o %s %s %c\x00%s\x00", d.OldMode, d.NewMode, id(d.OldID), id(d.NewID), status(d), d.Path)
				kinds[status(d)]++
			}
			want := string(person(t, r.dir, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", commits[i], commits[k]))
			if got.String() != want {
				t.Fatalf("%s to %s: %q\ngit says %q", commits[i], commits[k], got.String(), want)
			}
		}
		var got strings.Builder
		r.must(one.Files(tree(commits[i]), func(e object.TreeEntry) error {
			kind := map[bool]string{true: "commit", false: "blob"}[e.Mode == object.ModeGitlink]
			fmt.Fprintf(&got, "%06o %s %x\t%s\x00", e.Mode, kind, e.ID, e.Name)
			found, ok, err := one.Lookup(tree(commits[i]), e.Name)
			if err != nil || !ok || found.ID != e.ID || found.Mode != e.Mode {
				t.Fatalf("%q is %+v, %v, %v", e.Name, found, ok, err)
			}
			return nil
		}))
		if want := string(person(t, r.dir, nil, "ls-tree", "-r", "-z", commits[i])); got.String() != want {
			t.Fatalf("%q\ngit says %q", got.String(), want)
		}
		for _, p := range []string{"nowhere", "a/b/c/d/e/f", "lib/x"} {
			if e, ok, err := one.Lookup(tree(commits[i]), p); ok || err != nil {
				t.Errorf("%q is %+v, %v", p, e, err)
			}
		}
	}
	for _, s := range []byte("ADMT") {
		if kinds[s] < 5 {
			t.Errorf("only %d differences of kind %c were made", kinds[s], s)
		}
	}
}

// sized is how often something is done, and with -short.
func sized(often, short int) int {
	if testing.Short() {
		return short
	}
	return often
}

func id(raw string) string {
	if raw == "" {
		return strings.Repeat("0", 40)
	}
	return hex.EncodeToString([]byte(raw))
}

func status(d object.Difference) byte {
	switch {
	case d.OldMode == 0:
		return 'A'
	case d.NewMode == 0:
		return 'D'
	case d.OldMode&object.TypeBits != d.NewMode&object.TypeBits:
		return 'T'
	}
	return 'M'
}

func TestCommitsAreReadAsGitReadsThem(t *testing.T) {
	r := newRepository(t)
	first := r.change()
	second := r.change()
	tree := strings.TrimSpace(string(person(t, r.dir, nil, "rev-parse", "HEAD^{tree}")))
	merge := strings.TrimSpace(string(person(t, r.dir, nil, "commit-tree", tree, "-p", first, "-p", second, "-m", "parent "+first+"\n\ntree "+first)))
	one := r.database().Reader()
	defer one.Close()
	c, err := one.Commit(merge)
	if err != nil || c.Tree != tree || !slices.Equal(c.Parents, []string{first, second}) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := one.Commit(tree); !errors.Is(err, object.ErrUnread) {
		t.Errorf("a tree as commit: %v", err)
	}
	if _, err := one.Tree(merge); !errors.Is(err, object.ErrUnread) {
		t.Errorf("a commit as tree: %v", err)
	}
}

// FuzzPack reads packs of any bytes.
func FuzzPack(f *testing.F) {
	r := newRepository(f)
	for range 3 {
		r.change()
	}
	person(f, r.dir, nil, "repack", "-q", "-a", "-d", "-f")
	pack, err := os.ReadFile(strings.TrimSuffix(r.pack(), ".idx") + ".pack")
	r.must(err)
	idx, err := os.ReadFile(r.pack())
	r.must(err)
	f.Add(pack, idx)
	ids := slices.Sorted(maps.Keys(r.all()))
	f.Fuzz(func(t *testing.T, pack, idx []byte) {
		dir := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "pack"), 0o700), os.WriteFile(filepath.Join(dir, "pack", "pack-1.pack"), pack, 0o600),
			os.WriteFile(filepath.Join(dir, "pack", "pack-1.idx"), idx, 0o600)); err != nil {
			t.Fatal(err)
		}
		one := object.Open(dir).Reader()
		defer one.Close()
		for _, id := range ids {
			kind, data, err := one.Read(id, 1<<20)
			if err == nil && object.ID(kind, data) != id {
				t.Errorf("%s has another id", id)
			}
			_, _, _ = one.Stat(id)
			_, _ = one.Tree(id)
			_, _ = one.Commit(id)
		}
	})
}

package workspace_test

import (
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// live takes a live snapshot.
func (r *rig) live(t *testing.T, w string, set ...func(*workspace.SnapshotSpec)) (workspace.Snapshot, error) {
	t.Helper()
	spec := r.Spec(w)
	spec.Live = true
	for _, f := range set {
		f(&spec)
	}
	return workspace.Take(t.Context(), r.Store, spec)
}

// reasons are the refusals in an error, by path.
func reasons(t *testing.T, err error) map[string]string {
	t.Helper()
	list := map[string]string{}
	var refused *workspace.RefusedError
	if errors.As(err, &refused) {
		for _, f := range refused.Refusals {
			list[f.Path] = f.Reason
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return list
}

// manyKinds is a base with all that a snapshot has rules for.
func manyKinds() map[string]string {
	files := map[string]string{
		".gitignore": "build/\n*.log\n!keep.log\n/deep/ignored\n", ".gitattributes": "* text=auto\n*.bat text eol=crlf\n*.id ident\n*.u16 text working-tree-encoding=UTF-16LE\n",
		"raw/.gitattributes": "* -text\n", "run.bat": "a\r\nb\r\n", "x.id": "$Id$\n", "w.u16": "w\x00\n\x00", "tool": "#!/bin/sh\n", "link": "->tool", "deep/link": "->../tool",
		"sub/.gitignore": "*.o\n", "empty": "", "ünï/日本.txt": "x\n", "a.b": "a.b\n", "a0": "a0\n", "mask/me": "masked\n", "mask/too": "masked\n",
		"bin": "\x00\x01\r\n", "raw/bin": "a\r\n",
	}
	for i := range 40 {
		files[fmt.Sprintf("deep/%d/%d/f%d.txt", i%3, i%5, i)] = fmt.Sprintf("file %d\n", i)
	}
	return files
}

// change makes one random change below w, by means that agents have.
func change(t *testing.T, rnd *rand.Rand, w string, names []string) {
	t.Helper()
	name := names[rnd.IntN(len(names))]
	file := filepath.Join(w, filepath.FromSlash(name))
	if rnd.IntN(3) == 0 {
		name = filepath.ToSlash(filepath.Join(filepath.Dir(name), []string{"new", "new.bat", "new.o", "n.log", "build/x", "keep.log", "b\\.git", "with space", "a.id", "gi", "v.u16"}[rnd.IntN(11)]))
		file = filepath.Join(w, filepath.FromSlash(name))
	}
	text := []string{"text\n", "line\r\nline\r\n", "$Id: 1 $\n", "#!/bin/sh\n", "->tool", "->../gone", "", "\x00\r\n", "u\x00\n\x00"}[rnd.IntN(9)]
	if strings.HasSuffix(name, ".u16") {
		text = "u\x00\n\x00" // a bad one ends git, in both forms
	}
	for dir := filepath.Dir(file); dir != w; dir = filepath.Dir(dir) { // the way there may be a file by now
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			repotest.Remove(t, dir, "")
		}
	}
	switch kind := rnd.IntN(12); kind {
	case 0, 1, 2, 3, 4:
		repotest.Remove(t, file, "")
		repotest.Write(t, w, map[string]string{name: text})
	case 5:
		repotest.Remove(t, file, "")
	case 6: // a directory in its place
		repotest.Remove(t, file, "")
		repotest.Write(t, w, map[string]string{name + "/in/it": text})
	case 7: // something in place of its directory
		if dir := filepath.Dir(file); dir != w {
			repotest.Remove(t, dir, "")
			repotest.Write(t, filepath.Dir(dir), map[string]string{filepath.Base(dir): text})
		}
	case 8: // the same bytes with other times
		if data, err := os.ReadFile(file); err == nil {
			_ = os.WriteFile(file, data, 0o644)
		}
	case 9:
		_ = os.Chmod(file, []os.FileMode{0o644, 0o755, 0o600}[rnd.IntN(3)])
	case 10:
		_ = os.Rename(file, file+".moved")
	case 11:
		stray(t, rnd, w, file)
	}
}

// stray makes what a snapshot refuses, now and then.
func stray(t *testing.T, rnd *rand.Rand, w, file string) {
	t.Helper()
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	switch rnd.IntN(12) {
	case 0:
		repotest.Remove(t, file, "")
		mkfifo(t, file)
	case 1:
		_ = os.Link(filepath.Join(w, "a0"), filepath.Join(dir, "linked"))
	case 2:
		repotest.Write(t, dir, map[string]string{".git/HEAD": "ref: refs/heads/x\n"})
	case 3:
		repotest.Write(t, dir, map[string]string{".gitmodules": "->tool"})
	case 4:
		repotest.Write(t, dir, map[string]string{"huge": strings.Repeat("x", 5000)})
	case 5:
		repotest.Write(t, dir, map[string]string{"large": strings.Repeat("line\r\n", 200_000)})
	}
}

// seeds is how many random histories are tried.
const seeds = 8

// TestLiveSnapshotEqualsTheQuietOneOfRandomChanges changes a workspace at random and takes both
// forms: with a kept index at the base, with one that an earlier snapshot has moved, and with none.
func TestLiveSnapshotEqualsTheQuietOneOfRandomChanges(t *testing.T) {
	histories := uint64(seeds)
	if testing.Short() {
		histories = 3
	}
	for seed := range histories {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 11))
			files := manyKinds()
			r := newRig(t, files)
			repotest.Git(t, r.Clone, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",deep/lib")
			repotest.Git(t, r.Clone, "commit", "-q", "-m", "submodule")
			r.Fetch("HEAD")
			// Of files that do not change, other attributes make other content for a snapshot that
			// reads them all. Git has that too, by chance, in the second after an index was written.
			maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, "raw/") || name == ".gitattributes" })
			names := slices.Sorted(maps.Keys(files))
			w := r.Workspace("coder")
			for round := range 6 {
				for range rnd.IntN(8) {
					change(t, rnd, w, names)
				}
				limits := func(spec *workspace.SnapshotSpec) {
					spec.Masked, spec.MaxGrowth = []string{"mask", "absent"}, 4000
					if round%2 == 0 {
						spec.MaxGrowth = 0
					}
					spec.NameProblem = func(p string) string {
						if strings.Contains(p, " ") {
							return "has a space"
						}
						return ""
					}
				}
				bare, bareErr := r.live(t, w, limits, func(spec *workspace.SnapshotSpec) { spec.Index = "" })
				live, liveErr := r.live(t, w, limits)
				spec := r.Spec(w)
				limits(&spec)
				quiet, quietErr := workspace.Take(t.Context(), r.Store, spec)
				want := reasons(t, quietErr)
				for form, got := range map[string]error{"live": liveErr, "without index": bareErr} {
					if have := reasons(t, got); !reflect.DeepEqual(have, want) {
						t.Errorf("round %d, %s: refused %q, want %q", round, form, have, want)
					}
				}
				if !reflect.DeepEqual(live, quiet) || !reflect.DeepEqual(bare, quiet) {
					t.Fatalf("round %d:\nlive  %s %s\nbare  %s %s\nquiet %s %s", round, live.Tree, repotest.Summary(live.Changes),
						bare.Tree, repotest.Summary(bare.Changes), quiet.Tree, repotest.Summary(quiet.Changes))
				}
				if quietErr == nil {
					repotest.Git(t, r.Store.Dir(), "fsck", "--no-dangling", "--connectivity-only", live.Tree)
				} else { // take the strays away, or every round ends like this one
					for p := range want {
						repotest.Remove(t, w, p)
					}
				}
			}
		})
	}
}

// TestLiveSnapshotStartsFewProcesses counts every git: none for what did not change, and none per file.
func TestLiveSnapshotStartsFewProcesses(t *testing.T) {
	files := map[string]string{"ruled/.gitignore": "build/\n"}
	for i := range 30 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%3, i%7, i)] = fmt.Sprintf("file %d\n", i)
	}
	for name, c := range map[string]struct {
		write map[string]string
		packs int // files that the store has for packs
		want  string
	}{
		"nothing changed": {nil, 0, ""},
		"changes":         {map[string]string{"d0/e0/f0": "x\n", "d1/e1/f1": "->f0"}, 0, ""},
		"binary":          {map[string]string{"d0/e0/f0": "\xff\x00"}, 0, "index-pack"}, // git's own sum, see object.PackWriter.Binary
		"many packs":      {map[string]string{"d0/e0/f0": "x\n", "d1/e1/f1": "->f0"}, 150, "unpack-objects"},
		"new files":       {map[string]string{"d0/e0/new": "x\n", "new": "y\n"}, 0, ""},
		"ignored files":   {map[string]string{"ruled/new": "x\n", "new": "y\n", "ruled/build/x": "z"}, 0, "check-ignore"},
		"line ends":       {map[string]string{".gitattributes": "* text\n", "d0/e0/f0": "a\r\n"}, 0, "update-index"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, files)
			w := r.Workspace("coder")
			if _, err := r.live(t, w); err != nil {
				t.Fatal(err)
			}
			repotest.Write(t, w, c.write)
			for i := range c.packs {
				repotest.Write(t, filepath.Join(r.Store.Dir(), "objects", "pack"), map[string]string{fmt.Sprintf("tmp_pack_%d", i): ""})
			}
			log := filepath.Join(t.TempDir(), "log")
			dir := t.TempDir()
			script := "#!/bin/sh\nfor a; do case $a in check-ignore|index-pack|unpack-objects|update-index|read-tree|write-tree|diff-tree|ls-tree|rev-parse|cat-file) echo $a >>" + log + ";; esac; done\nexec " + repotest.RealGit + " \"$@\"\n"
			if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			got, err := r.live(t, w)
			if err != nil || c.write == nil && (got.Tree != repotest.Must(r.Store.Tree(t.Context(), r.Base)) || len(got.Changes) > 0) {
				t.Errorf("got %+v, %v", got, err)
			}
			data, _ := os.ReadFile(log)
			if have := strings.Join(strings.Fields(string(data)), " "); have != c.want {
				t.Errorf("git ran %q, want %q", have, c.want)
			}
			tree := r.Tree(got.Tree)
			for p, content := range c.write {
				if want := tree[p]; !strings.HasPrefix(p, "ruled/build/") && content[0] != '-' && !strings.HasSuffix(want, strings.ReplaceAll(content, "\r", "")) {
					t.Errorf("%s is %q", p, want)
				}
			}
		})
	}
}

// A change of the same size in the moment in which the index was written leaves no trace in
// the state of the file.
func TestLiveSnapshotReadsRacilyCleanFiles(t *testing.T) {
	for name, c := range map[string]struct {
		mtime, index time.Duration // against the time at which the state of the file changed
		want         string
	}{
		"index of the same moment":         {0, 0, "M a"},
		"index of before":                  {0, -time.Second, "M a"},
		"a time set by the agent":          {-time.Hour, -time.Second, "M a"},
		"index of later tells by the time": {0, time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a": "old\n", "b": "old\n"})
			w := r.Workspace("coder")
			file, index := filepath.Join(w, "a"), workspace.Index(w)
			if err := os.WriteFile(file, []byte("new\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if info := repotest.Must(os.Stat(file)); c.mtime != 0 {
				if err := os.Chtimes(file, info.ModTime().Add(c.mtime), info.ModTime().Add(c.mtime)); err != nil {
					t.Fatal(err)
				}
			}
			var stat unix.Stat_t
			if err := unix.Lstat(file, &stat); err != nil {
				t.Fatal(err)
			}
			// The entry of the old content, the first one, gets the state of the new one.
			rewrite(t, index, func(b []byte) []byte {
				for i, n := range []uint32{
					uint32(stat.Ctim.Sec), uint32(stat.Ctim.Nsec), uint32(stat.Mtim.Sec), uint32(stat.Mtim.Nsec), uint32(stat.Dev), uint32(stat.Ino),
				} {
					binary.BigEndian.PutUint32(b[12+4*i:], n)
				}
				sum := sha1.Sum(b[:len(b)-sha1.Size])
				return append(b[:len(b)-sha1.Size], sum[:]...)
			})
			at := time.Unix(stat.Ctim.Unix()).Add(c.index)
			if err := os.Chtimes(index, at, at); err != nil {
				t.Fatal(err)
			}
			got, err := r.live(t, w)
			if err != nil || repotest.Summary(got.Changes) != c.want {
				t.Errorf("changes %q, want %q; %v", repotest.Summary(got.Changes), c.want, err)
			}
		})
	}
}

// A file that changes while it is read is read again.
func TestLiveSnapshotOfAFileThatIsBeingWritten(t *testing.T) {
	for name, c := range map[string]struct {
		times   int
		refused bool
	}{"once": {1, false}, "twice": {2, false}, "for ever": {100, true}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a": "a\n", "b": "b\n"})
			w := r.Workspace("coder")
			repotest.Write(t, w, map[string]string{"a": "changed\n", "b": "changed\n"})
			n := 0
			got, err := r.live(t, w, func(spec *workspace.SnapshotSpec) {
				spec.SetHook(func(point, path string) {
					if point != "copied" || path != "a" || n == c.times {
						return
					}
					n++
					if err := os.WriteFile(filepath.Join(w, "a"), []byte(strings.Repeat("more\n", n)), 0o644); err != nil {
						t.Error(err)
					}
				})
			})
			if c.refused {
				if have := reasons(t, err); len(have) != 1 || have["a"] != "changed while it was read" || n != 3 {
					t.Errorf("refused %q after %d tries", have, n)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if have := r.Tree(got.Tree)["a"]; have != "100644 "+strings.Repeat("more\n", n) || n != c.times {
				t.Errorf("a is %q after %d changes", have, n)
			}
		})
	}
}

// What was a file in the walk may be anything when it is read.
func TestLiveSnapshotOfAFileThatBecomesSomethingElse(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("host secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		swap func(t *testing.T, file string)
		want string // of its path in the tree
		why  string // or of a refusal
	}{
		"symlink": {func(t *testing.T, file string) {
			repotest.Write(t, filepath.Dir(file), map[string]string{"a": "->" + secret})
		}, "120000 " + secret, ""},
		"nothing":   {func(*testing.T, string) {}, "", ""},
		"FIFO":      {func(t *testing.T, file string) { mkfifo(t, file) }, "", "is a device, FIFO or socket"},
		"directory": {func(t *testing.T, file string) { repotest.Write(t, file, map[string]string{"in": "in\n"}) }, "", "changed while it was read"},
		"executable": {func(t *testing.T, file string) {
			repotest.Write(t, filepath.Dir(file), map[string]string{"a": "#!x\n"})
		}, "100755 #!x\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a": "a\n", "b": "b\n"})
			w := r.Workspace("coder")
			repotest.Write(t, w, map[string]string{"a": "changed\n"})
			swapped := false
			got, err := r.live(t, w, func(spec *workspace.SnapshotSpec) {
				spec.SetHook(func(point, path string) {
					if point == "copy" && path == "a" && !swapped {
						swapped = true
						repotest.Remove(t, w, "a")
						c.swap(t, filepath.Join(w, "a"))
					}
				})
			})
			if have := reasons(t, err)["a"]; have != c.why {
				t.Errorf("refused as %q, want %q", have, c.why)
			}
			if err == nil && (r.Tree(got.Tree)["a"] != c.want || r.Tree(got.Tree)["b"] != "100644 b\n") {
				t.Errorf("tree %q", r.Tree(got.Tree))
			}
		})
	}
}

// The kept index is a matter of time alone, and stays as it is.
func TestLiveSnapshotWithAndWithoutTheKeptIndex(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, index string){
		"good":         func(*testing.T, string) {},
		"absent":       func(t *testing.T, index string) { repotest.Remove(t, index, "") },
		"cut":          func(t *testing.T, index string) { rewrite(t, index, func(b []byte) []byte { return b[:len(b)/2] }) },
		"empty":        func(t *testing.T, index string) { rewrite(t, index, func([]byte) []byte { return nil }) },
		"another byte": func(t *testing.T, index string) { rewrite(t, index, func(b []byte) []byte { b[40] ^= 1; return b }) },
		"directory": func(t *testing.T, index string) {
			repotest.Remove(t, index, "")
			if err := os.Mkdir(index, 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"locked": func(t *testing.T, index string) {
			if err := os.WriteFile(index+".lock", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string]string{"a": "a\n", "dir/b": "b\n", "dir/c": "c\n", ".gitattributes": "* text\n"})
			w := r.Workspace("coder")
			repotest.Write(t, w, map[string]string{"a": "A\r\n", "dir/new": "new\n"})
			repotest.Remove(t, w, "dir/c")
			index := workspace.Index(w)
			spoil(t, index)
			before, _ := os.ReadFile(index)
			was, _ := os.Lstat(index)
			for range 2 {
				got, err := r.live(t, w)
				if err != nil || repotest.Summary(got.Changes) != "A dir/new, D dir/c, M a" || r.Tree(got.Tree)["a"] != "100644 A\n" {
					t.Errorf("changes %s, %v", repotest.Summary(got.Changes), err)
				}
			}
			after, _ := os.ReadFile(index)
			is, _ := os.Lstat(index)
			if string(before) != string(after) || (was == nil) != (is == nil) || was != nil && !was.ModTime().Equal(is.ModTime()) {
				t.Error("the kept index is not as it was")
			}
		})
	}
}

func rewrite(t *testing.T, file string, with func([]byte) []byte) {
	t.Helper()
	if err := os.WriteFile(file, with(repotest.Must(os.ReadFile(file))), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotsOfAnEmptyBase(t *testing.T) {
	r := newRig(t, nil)
	w := r.Workspace("coder")
	for _, files := range []map[string]string{nil, {"a": "a\n", "dir/b": "->a"}} {
		repotest.Write(t, w, files)
		for _, live := range []bool{true, false, true} {
			spec := r.Spec(w)
			spec.Live = live
			got, err := workspace.Take(t.Context(), r.Store, spec)
			if err != nil || len(got.Changes) != len(files) || len(r.Tree(got.Tree)) != len(files) {
				t.Errorf("live %v: %+v, %v", live, got, err)
			}
		}
	}
	full := r.WorkspaceAt("full", r.Commit(map[string]string{"a": "a\n", "dir/b": "b\n"}, r.Base))
	repotest.Remove(t, full, "a", "dir")
	r.Base = repotest.Must(r.Store.Resolve(t.Context(), strings.TrimSpace(string(repotest.Must(os.ReadFile(full+".base"))))))
	if got, err := r.live(t, full); err != nil || repotest.Summary(got.Changes) != "D a, D dir/b" || got.Tree != gitrepo.EmptyTree {
		t.Errorf("all removed: %+v, %v", got, err)
	}
}

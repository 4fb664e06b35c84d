package git_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// person runs git in dir as a person would.
func person(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.test",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// indexed is a repository with an index of some version and ids of some format.
func indexed(t testing.TB, version, format string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	person(t, dir, "init", "-q", "--object-format="+format)
	for name, text := range map[string]string{
		"a": "a\n", "empty": "", "dir/b": "b\n", "dir/deeper/c": "c\n", "dir.txt": "d\n", "dir0": "e\n", "ünï/日本.txt": "f\n", "tool": "t\n",
		strings.Repeat("n", 250) + "/" + strings.Repeat("m", 250): "long\n",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "tool"), 0o755), os.Symlink("a", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	person(t, dir, "add", "-A")
	link := strings.Repeat("1", len(strings.TrimSpace(person(t, dir, "hash-object", "a"))))
	person(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+link+",lib")
	blob := strings.TrimSpace(person(t, dir, "hash-object", "a"))
	// Longer than the flags of an entry can say, and than a file system takes.
	person(t, dir, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+strings.Repeat(strings.Repeat("l", 200)+"/", 21)+"path")
	if version == "3" { // git writes it where it needs to
		person(t, dir, "update-index", "--skip-worktree", "a")
	} else {
		person(t, dir, "update-index", "--index-version", version)
	}
	person(t, dir, "write-tree")
	return dir
}

// TestReadIndexAgainstGit compares what is read with what git says of the same index.
func TestReadIndexAgainstGit(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "3", "4"} {
			t.Run(format+" version "+version, func(t *testing.T) {
				dir := indexed(t, version, format)
				name := filepath.Join(dir, ".git", "index")
				if data, err := os.ReadFile(name); err != nil || fmt.Sprint(data[7]) != version {
					t.Fatalf("the index has version %d, %v", data[7], err)
				}
				size := map[string]int{"sha1": 20, "sha256": 32}[format]
				x, err := git.ReadIndex(name, size)
				if err != nil {
					t.Fatal(err)
				}
				if info, err := os.Stat(name); err != nil || !info.ModTime().Equal(x.Time) {
					t.Errorf("time %s, %v", x.Time, err)
				}
				var got strings.Builder
				for _, e := range x.Entries {
					fmt.Fprintf(&got, "%06o %x 0\t%s\x00", e.Mode, e.ID, e.Path)
					fmt.Fprintf(&got, "  ctime: %d:%d\n  mtime: %d:%d\n", e.Ctime.Sec, e.Ctime.Nsec, e.Mtime.Sec, e.Mtime.Nsec)
					fmt.Fprintf(&got, "ino: %d\n  uid: %d\tgid: %d\n  size: %d\n", e.Ino, e.UID, e.GID, e.Size)
					if e.Special != (version == "3" && e.Path == "a") {
						t.Errorf("%s: special %v", e.Path, e.Special)
					}
				}
				if want := debugged(person(t, dir, "ls-files", "-z", "--stage", "--debug")); got.String() != want {
					t.Errorf("read\n%q\ngit says\n%q", got.String(), want)
				}
				trees := map[string]string{}
				for dir, id := range x.Trees {
					trees[dir] = hex.EncodeToString([]byte(id))
				}
				want := map[string]string{"": strings.TrimSpace(person(t, dir, "write-tree"))}
				for rec := range strings.SplitSeq(strings.TrimSuffix(person(t, dir, "ls-tree", "-r", "-d", "-z", want[""]), "\x00"), "\x00") {
					meta, name, _ := strings.Cut(rec, "\t")
					if f := strings.Fields(meta); f[1] == "tree" {
						want[name] = f[2]
					}
				}
				if !maps.Equal(trees, want) {
					t.Errorf("trees\n%q\nwant\n%q", trees, want)
				}
			})
		}
	}
}

// debugged leaves the device and the flags out, which are not read.
func debugged(s string) string {
	var kept []string
	for line := range strings.Lines(s) {
		if _, ino, ok := strings.Cut(line, "ino: "); ok {
			line = "ino: " + ino
		}
		if at := strings.Index(line, "\tflags: "); at >= 0 {
			line = line[:at] + "\n"
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "")
}

func TestReadIndexKnowsWhatChanged(t *testing.T) {
	dir := indexed(t, "2", "sha1")
	if err := os.WriteFile(filepath.Join(dir, "dir", "b"), []byte("changed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	person(t, dir, "update-index", "dir/b")
	x, err := git.ReadIndex(filepath.Join(dir, ".git", "index"), 20)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"": false, "dir": false, "dir/deeper": true, "ünï": true} {
		if got := x.Trees[name] != ""; got != want {
			t.Errorf("tree of %q: %v, want %v", name, got, want)
		}
	}
}

// TestReadIndexRefuses has indexes that no snapshot may trust.
func TestReadIndexRefuses(t *testing.T) {
	dir := indexed(t, "4", "sha1")
	name := filepath.Join(dir, ".git", "index")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte, size int) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "index")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := git.ReadIndex(file, size); !errors.Is(err, git.ErrIndex) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, n := range []int{0, 3, 12, 31, 32, 100, len(data) / 2, len(data) - 1} {
		refused(fmt.Sprintf("cut at %d", n), data[:n], 20)
	}
	for _, n := range []int{0, 4, 11, 20, 100, len(data) - 1} {
		bad := slices.Clone(data)
		bad[n] ^= 1
		refused(fmt.Sprintf("another byte at %d", n), bad, 20)
	}
	refused("longer", append(slices.Clone(data), 0), 20)
	refused("ids of another format", data, 32)
	refused("no checksum", append(slices.Clone(data[:len(data)-20]), make([]byte, 20)...), 20)
	person(t, dir, "update-index", "--split-index")
	if _, err := git.ReadIndex(name, 20); !errors.Is(err, git.ErrIndex) {
		t.Errorf("a split index: %v", err)
	}
	if _, err := git.ReadIndex(filepath.Join(dir, "absent"), 20); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent index: %v", err)
	}
}

func TestReadIndexRefusesAConflict(t *testing.T) {
	dir := indexed(t, "2", "sha1")
	id := strings.TrimSpace(person(t, dir, "hash-object", "a"))
	info := filepath.Join(t.TempDir(), "info")
	if err := os.WriteFile(info, fmt.Appendf(nil, "0 %s\ta\n100644 %s 1\ta\n100644 %s 2\ta\n", id, id, id), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "update-index", "--index-info")
	cmd.Dir = dir
	cmd.Stdin, _ = os.Open(info)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := git.ReadIndex(filepath.Join(dir, ".git", "index"), 20); !errors.Is(err, git.ErrIndex) {
		t.Errorf("got %v", err)
	}
}

// FuzzReadIndex has entries and extensions that no git wrote under a checksum that holds.
func FuzzReadIndex(f *testing.F) {
	for _, version := range []string{"2", "3", "4"} {
		data, err := os.ReadFile(filepath.Join(indexed(f, version, "sha1"), ".git", "index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:len(data)-20])
	}
	name := filepath.Join(f.TempDir(), "index")
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := os.WriteFile(name, git.Summed(body), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := git.ReadIndex(name, 20)
		if err != nil && !errors.Is(err, git.ErrIndex) {
			t.Fatal(err)
		}
		if err == nil && !slices.IsSortedFunc(x.Entries, func(a, b git.IndexEntry) int { return strings.Compare(a.Path, b.Path) }) {
			t.Error("entries are not in order")
		}
	})
}

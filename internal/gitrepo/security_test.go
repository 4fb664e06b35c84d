package gitrepo_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// refusal takes a snapshot that must be refused for exactly these paths.
func (r *rig) refusal(t *testing.T, w string, want ...string) {
	t.Helper()
	_, err := r.host.Snapshot(t.Context(), r.spec(w))
	var refused *gitrepo.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("snapshot of %q: %v", want, err)
		return
	}
	var paths []string
	for _, f := range refused.Refusals {
		if f.Reason == "" {
			t.Errorf("no reason for %q", f.Path)
		}
		paths = append(paths, f.Path)
	}
	slices.Sort(want)
	if !slices.Equal(paths, want) {
		t.Errorf("refused %q, want %q", paths, want)
	}
}

func mkfifo(t *testing.T, p string) {
	t.Helper()
	if err := syscall.Mkfifo(p, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSecurity9ConfigurationOfTheWorkspaceIsNotObeyed(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n", "b": "b\n"})
	w := r.workspace("coder")
	marker := filepath.Join(t.TempDir(), "marker")
	poison(t, w, marker)
	write(t, w, map[string]string{"a": "changed\n", ".gitattributes": "* filter=evil diff=evil merge=evil -text\n"})
	got := r.snapshot(w)
	if summary(got.Changes) != "A .gitattributes, M a" {
		t.Errorf("changes are %s", summary(got.Changes))
	}
	res, err := r.integrate(w, "l-1", r.base)
	if err != nil || res.Empty {
		t.Errorf("integrate: %+v, %v", res, err)
	}
	if _, err := r.host.Diff(t.Context(), r.base, res.Commit, 1<<20); err != nil {
		t.Error(err)
	}
	next := r.workspaceAt("next", res.Commit)
	if _, err := r.host.Snapshot(t.Context(), gitrepo.SnapshotSpec{
		Workspace: next, Index: gitrepo.WorkspaceIndex(next), Base: res.Commit,
	}); err != nil {
		t.Error(err)
	}
	absent(t, marker)
}

// TestSecurity9TheTrapSprings proves that the marker of the tests above would appear.
func TestSecurity9TheTrapSprings(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	marker := filepath.Join(t.TempDir(), "marker")
	poison(t, r.clone, marker)
	cmd := exec.Command("git", "status")
	cmd.Dir = r.clone
	_ = cmd.Run()
	if _, err := os.Stat(marker); err != nil {
		t.Fatal("an unguarded git leaves no marker: the tests prove nothing")
	}
}

func TestSecurity10NestedRepositories(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	forms := map[string]struct {
		make func(t *testing.T, dir string)
		want string
	}{
		"repository": {func(t *testing.T, dir string) {
			git(t, dir, "init", "-q")
			poison(t, dir, marker)
		}, ".git"},
		"repository with a commit": {func(t *testing.T, dir string) {
			git(t, dir, "init", "-q")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
			poison(t, dir, marker)
		}, ".git"},
		".git file": {func(t *testing.T, dir string) { write(t, dir, map[string]string{".git": "gitdir: ../.git\n"}) }, ".git"},
		".git link": {func(t *testing.T, dir string) { write(t, dir, map[string]string{".git": "->../.git"}) }, ".git"},
		".GIT":      {func(t *testing.T, dir string) { write(t, dir, map[string]string{".GIT/config": "x"}) }, ".GIT"},
		"short":     {func(t *testing.T, dir string) { write(t, dir, map[string]string{"GIT~1/config": "x"}) }, "GIT~1"},
		"HFS":       {func(t *testing.T, dir string) { write(t, dir, map[string]string{".g\u200cit/config": "x"}) }, ".g\u200cit"},
		"NTFS":      {func(t *testing.T, dir string) { write(t, dir, map[string]string{".git .": "x"}) }, ".git ."},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, map[string]string{".gitignore": "ignored/\n", "a": "a\n"})
			w := r.workspace("coder")
			write(t, w, map[string]string{"sub/f": "f\n", "ignored/f": "f\n"})
			form.make(t, filepath.Join(w, "ignored"))
			if got := summary(r.snapshot(w).Changes); got != "A sub/f" {
				t.Fatalf("in an ignored directory: %s", got)
			}
			form.make(t, filepath.Join(w, "sub"))
			r.refusal(t, w, "sub/"+form.want)
			r.refusal(t, w, "sub/"+form.want)
			absent(t, marker)
			if _, err := os.Lstat(filepath.Join(w, "ignored", form.want)); err != nil {
				t.Errorf("the ignored one was touched: %v", err)
			}
		})
	}
}

func TestSecurity10SubmoduleOfTheBaseStays(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	link := strings.Repeat("1", 40)
	git(t, r.clone, "update-index", "--add", "--cacheinfo", "160000,"+link+",lib")
	git(t, r.clone, "commit", "-q", "-m", "submodule")
	r.fetch("HEAD")
	dir := filepath.Join(r.state, "workspaces", "s", "x")
	made, err := r.host.MakeWorkspace(t.Context(), dir, r.base)
	if err != nil || made.Submodules != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	marker := filepath.Join(t.TempDir(), "marker")
	if err := os.MkdirAll(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, filepath.Join(dir, "lib"), "init", "-q")
	git(t, filepath.Join(dir, "lib"), "commit", "-q", "--allow-empty", "-m", "moved")
	poison(t, filepath.Join(dir, "lib"), marker)
	write(t, dir, map[string]string{"a": "b\n", "lib/x": "x\n"})
	for range 2 {
		got := r.snapshot(dir)
		if summary(got.Changes) != "M a" || r.tree(got.Tree)["lib"] != "160000 "+link {
			t.Errorf("changes %s, lib is %q", summary(got.Changes), r.tree(got.Tree)["lib"])
		}
	}
	absent(t, marker)
}

func TestSecurity11SpecialFiles(t *testing.T) {
	r := newRig(t, map[string]string{".gitignore": "*.sock\ncache/\n", "a": "a\n", "dir/b": "b\n"})
	t.Run("FIFO as .gitignore", func(t *testing.T) {
		w := r.workspace("1")
		remove(t, w, ".gitignore")
		mkfifo(t, filepath.Join(w, ".gitignore"))
		mkfifo(t, filepath.Join(w, "dir", ".gitattributes"))
		r.refusal(t, w, ".gitignore")
	})
	t.Run("FIFO as .gitattributes", func(t *testing.T) {
		w := r.workspace("2")
		mkfifo(t, filepath.Join(w, "dir", ".gitattributes"))
		r.refusal(t, w, "dir/.gitattributes")
	})
	t.Run("symlink and large file as .gitignore", func(t *testing.T) {
		w := r.workspace("3")
		write(t, w, map[string]string{".gitignore": "->a", "dir/.gitignore": strings.Repeat("x\n", 1<<19+1)})
		r.refusal(t, w, ".gitignore")
		write(t, w, map[string]string{".gitignore": "x\n"})
		r.refusal(t, w, "dir/.gitignore")
	})
	t.Run("FIFO in place of a file and beside it", func(t *testing.T) {
		w := r.workspace("4")
		remove(t, w, "a")
		mkfifo(t, filepath.Join(w, "a"))
		mkfifo(t, filepath.Join(w, "dir", "new"))
		r.refusal(t, w, "a", "dir/new")
	})
	t.Run("ignored ones are no matter", func(t *testing.T) {
		w := r.workspace("5")
		mkfifo(t, filepath.Join(w, "x.sock"))
		write(t, w, map[string]string{"cache/f": "f"})
		mkfifo(t, filepath.Join(w, "cache", ".gitignore"))
		if got := r.snapshot(w).Changes; len(got) != 0 {
			t.Errorf("changes are %s", summary(got))
		}
	})
}

func TestSecurity11HardLinks(t *testing.T) {
	r := newRig(t, map[string]string{".gitignore": "node_modules/\n", "a": "a\n", "b": "b\n"})
	w := r.workspace("coder")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("host secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(from, to string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(w, to)), 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(w, to))
		if err := os.Link(from, filepath.Join(w, to)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(w, "a"), "node_modules/a")
	if got := r.snapshot(w).Changes; len(got) != 0 {
		t.Errorf("an unchanged file with a link in an ignored directory: %s", summary(got))
	}
	link(secret, "stolen")
	link(secret, "b")
	r.refusal(t, w, "b", "stolen")
}

func TestSecurity11SymlinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret": "host secret\n", "dir/secret": "host secret\n"})
	r := newRig(t, map[string]string{"a": "a\n", "dir/b": "b\n", "dir/c/d": "d\n", "e/f": "f\n"})
	w := r.workspace("coder")
	remove(t, w, "dir", "e")
	write(t, w, map[string]string{
		"dir": "->" + outside + "/dir", "a": "->" + outside + "/secret", "loop": "->.", "e": "->gone",
	})
	got := r.tree(r.snapshot(w).Tree)
	want := map[string]string{
		"dir": "120000 " + outside + "/dir", "a": "120000 " + outside + "/secret", "loop": "120000 .", "e": "120000 gone",
	}
	if !maps.Equal(got, want) {
		t.Errorf("tree is %q", got)
	}
}

// TestSecurity11SwapsDuringTheWalk plays an agent that still runs: whatever it swaps,
// no byte from outside enters a tree.
func TestSecurity11SwapsDuringTheWalk(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"b": "host secret\n", "c/d": "host secret\n"})
	swaps := map[string]func(t *testing.T, w string){
		"directory to symlink": func(t *testing.T, w string) {
			remove(t, w, "dir")
			write(t, w, map[string]string{"dir": "->" + outside})
		},
		"inner directory to symlink": func(t *testing.T, w string) {
			remove(t, w, "dir/c")
			write(t, w, map[string]string{"dir/c": "->" + outside + "/c"})
		},
		"file to symlink": func(t *testing.T, w string) { write(t, w, map[string]string{"dir/b": "->" + outside + "/b"}) },
		"file to FIFO": func(t *testing.T, w string) {
			remove(t, w, "dir/c/d")
			mkfifo(t, filepath.Join(w, "dir", "c", "d"))
		},
	}
	points := map[string]func(point, path string) bool{
		"before the directory is read": func(point, path string) bool { return point == "read" && path == "dir" },
		"before the inner one is read": func(point, path string) bool { return point == "read" && path == "dir/c" },
		"before a file is copied":      func(point, path string) bool { return point == "copy" && path == "dir/b" },
		"before git reads the files":   func(point, path string) bool { return point == "index" },
	}
	for name, swap := range swaps {
		for at, when := range points {
			for _, live := range []bool{false, true} {
				if !live && at == "before a file is copied" {
					continue
				}
				t.Run(name+" "+at, func(t *testing.T) {
					r := newRig(t, map[string]string{"a": "a\n", "dir/b": "b\n", "dir/c/d": "d\n"})
					w := r.workspace("coder")
					swapped := false
					r.host.SetHook(func(point, path string) {
						if !swapped && when(point, path) {
							swapped = true
							swap(t, w)
						}
					})
					spec := r.spec(w)
					spec.Live = live
					got, err := r.host.Snapshot(t.Context(), spec)
					if !swapped && err == nil {
						t.Fatal("the swap did not happen")
					}
					if err != nil {
						return
					}
					for p, content := range r.tree(got.Tree) {
						if strings.Contains(content, "host secret") {
							t.Errorf("%s holds content from outside", p)
						}
					}
				})
			}
		}
	}
}

func TestSecurity12MaskedPathsComeFromTheBase(t *testing.T) {
	r := newRig(t, map[string]string{"AGENTS.md": "base\n", ".claude/settings.json": "{}\n", "a": "a\n"})
	w := r.workspace("coder")
	remove(t, w, "AGENTS.md")
	write(t, w, map[string]string{
		".claude/settings.json": "evil\n", ".claude/hooks/x": "evil\n", ".mcp.json": "", "a": "b\n",
	})
	spec := r.spec(w)
	spec.Masked = []string{"AGENTS.md", ".claude", ".mcp.json"}
	got, err := r.host.Snapshot(t.Context(), spec)
	if err != nil || summary(got.Changes) != "M a" {
		t.Errorf("changes are %s, %v", summary(got.Changes), err)
	}
}

func TestSecurity14GrowthIsRefusedBeforeTheFileIsRead(t *testing.T) {
	r := newRig(t, map[string]string{"big": strings.Repeat("x", 5000), "small": "s\n"})
	w := r.workspace("coder")
	spec := r.spec(w)
	spec.MaxGrowth = 1000
	write(t, w, map[string]string{"big": strings.Repeat("x", 6000), "new": strings.Repeat("n", 1000)})
	if _, err := r.host.Snapshot(t.Context(), spec); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	write(t, w, map[string]string{"big": strings.Repeat("x", 6001), "new": strings.Repeat("n", 1001)})
	var refused *gitrepo.RefusedError
	if _, err := r.host.Snapshot(t.Context(), spec); !errors.As(err, &refused) || len(refused.Refusals) != 2 {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestSnapshotJudgesOnlyAddedNames(t *testing.T) {
	r := newRig(t, map[string]string{"bad name": "a\n"})
	w := r.workspace("coder")
	spec := r.spec(w)
	spec.NameProblem = func(p string) string {
		if strings.Contains(p, " ") {
			return "has a space"
		}
		return ""
	}
	write(t, w, map[string]string{"bad name": "b\n"})
	if _, err := r.host.Snapshot(t.Context(), spec); err != nil {
		t.Errorf("a name of the base: %v", err)
	}
	write(t, w, map[string]string{"another bad": "b\n", "third bad": "b\n"})
	var refused *gitrepo.RefusedError
	if _, err := r.host.Snapshot(t.Context(), spec); !errors.As(err, &refused) || len(refused.Refusals) != 2 {
		t.Errorf("new names: %v", err)
	}
}

func TestLiveSnapshotEqualsTheQuietOne(t *testing.T) {
	r := newRig(t, map[string]string{
		".gitignore": "build/\n!build/keep\n/only-dir/\n", "a": "a\n", "sub/.gitignore": "*.o\n", "tool": "#!/bin/sh\n", "l": "->a",
	})
	w := r.workspace("coder")
	write(t, w, map[string]string{
		"a": "b\n", "sub/x.o": "o", "sub/x.c": "c", "build/x": "x", "only-dir": "a file\n", "new/deep/f": "#!/bin/sh\n", "l2": "->gone",
	})
	remove(t, w, "l")
	quiet := r.snapshot(w)
	spec := r.spec(w)
	spec.Live = true
	live, err := r.host.Snapshot(t.Context(), spec)
	if err != nil || live.Tree != quiet.Tree {
		t.Errorf("live %s, %v\nquiet %s", summary(live.Changes), err, summary(quiet.Changes))
	}
}

package workspace_test

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

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// refusal takes snapshots of both forms that must be refused for exactly these paths.
func (r *rig) refusal(t *testing.T, w string, want ...string) {
	t.Helper()
	slices.Sort(want)
	for _, live := range []bool{true, false} {
		spec := r.Spec(w)
		spec.Live = live
		_, err := workspace.Take(t.Context(), r.Store, spec)
		var refused *workspace.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("live %v: snapshot of %q: %v", live, want, err)
			continue
		}
		var paths []string
		for _, f := range refused.Refusals {
			if f.Reason == "" {
				t.Errorf("no reason for %q", f.Path)
			}
			paths = append(paths, f.Path)
		}
		if !slices.Equal(paths, want) {
			t.Errorf("live %v: refused %q, want %q", live, paths, want)
		}
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
	w := r.Workspace("coder")
	marker := filepath.Join(t.TempDir(), "marker")
	repotest.Poison(t, w, marker)
	repotest.Write(t, w, map[string]string{"a": "changed\n", ".gitattributes": "* filter=evil diff=evil merge=evil -text\n"})
	got := r.Snapshot(w)
	if repotest.Summary(got.Changes) != "A .gitattributes, M a" {
		t.Errorf("changes are %s", repotest.Summary(got.Changes))
	}
	res, err := r.Integrate(w, "l-1", r.Base)
	if err != nil || res.Empty {
		t.Errorf("integrate: %+v, %v", res, err)
	}
	if _, err := r.Store.Diff(t.Context(), r.Base, res.Commit, 1<<20); err != nil {
		t.Error(err)
	}
	next := r.WorkspaceAt("next", res.Commit)
	if _, err := workspace.Take(t.Context(), r.Store, workspace.SnapshotSpec{
		Workspace: next, Index: workspace.Index(next), Base: res.Commit,
	}); err != nil {
		t.Error(err)
	}
	repotest.Absent(t, marker)
}

// TestSecurity9TheTrapSprings proves that the marker of the tests above would appear.
func TestSecurity9TheTrapSprings(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	marker := filepath.Join(t.TempDir(), "marker")
	repotest.Poison(t, r.Clone, marker)
	cmd := exec.Command("git", "status")
	cmd.Dir = r.Clone
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
			repotest.Git(t, dir, "init", "-q")
			repotest.Poison(t, dir, marker)
		}, ".git"},
		"repository with a commit": {func(t *testing.T, dir string) {
			repotest.Git(t, dir, "init", "-q")
			repotest.Git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
			repotest.Poison(t, dir, marker)
		}, ".git"},
		".git file": {func(t *testing.T, dir string) { repotest.Write(t, dir, map[string]string{".git": "gitdir: ../.git\n"}) }, ".git"},
		".git link": {func(t *testing.T, dir string) { repotest.Write(t, dir, map[string]string{".git": "->../.git"}) }, ".git"},
		".GIT":      {func(t *testing.T, dir string) { repotest.Write(t, dir, map[string]string{".GIT/config": "x"}) }, ".GIT"},
		"short":     {func(t *testing.T, dir string) { repotest.Write(t, dir, map[string]string{"GIT~1/config": "x"}) }, "GIT~1"},
		"HFS":       {func(t *testing.T, dir string) { repotest.Write(t, dir, map[string]string{".g\u200cit/config": "x"}) }, ".g\u200cit"},
		"NTFS":      {func(t *testing.T, dir string) { repotest.Write(t, dir, map[string]string{".git .": "x"}) }, ".git ."},
	}
	one := newRig(t, map[string]string{".gitignore": "ignored/\n", "a": "a\n"})
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			r := &rig{one.For(t)}
			w := r.Workspace("coder")
			repotest.Write(t, w, map[string]string{"sub/f": "f\n", "ignored/f": "f\n"})
			form.make(t, filepath.Join(w, "ignored"))
			if got := repotest.Summary(r.Snapshot(w).Changes); got != "A sub/f" {
				t.Fatalf("in an ignored directory: %s", got)
			}
			form.make(t, filepath.Join(w, "sub"))
			r.refusal(t, w, "sub/"+form.want)
			r.refusal(t, w, "sub/"+form.want)
			repotest.Absent(t, marker)
			if _, err := os.Lstat(filepath.Join(w, "ignored", form.want)); err != nil {
				t.Errorf("the ignored one was touched: %v", err)
			}
		})
	}
}

func TestSecurity10SubmoduleOfTheBaseStays(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	link := strings.Repeat("1", 40)
	repotest.Git(t, r.Clone, "update-index", "--add", "--cacheinfo", "160000,"+link+",lib")
	repotest.Git(t, r.Clone, "commit", "-q", "-m", "submodule")
	r.Fetch("HEAD")
	dir := filepath.Join(r.State, "workspaces", "s", "x")
	if _, err := workspace.Make(t.Context(), r.Store, dir, r.Base); err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(t.TempDir(), "marker")
	if err := os.MkdirAll(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	repotest.Git(t, filepath.Join(dir, "lib"), "init", "-q")
	repotest.Git(t, filepath.Join(dir, "lib"), "commit", "-q", "--allow-empty", "-m", "moved")
	repotest.Poison(t, filepath.Join(dir, "lib"), marker)
	repotest.Write(t, dir, map[string]string{"a": "b\n", "lib/x": "x\n"})
	for range 2 {
		got := r.Snapshot(dir)
		if repotest.Summary(got.Changes) != "M a" || r.Tree(got.Tree)["lib"] != "160000 "+link {
			t.Errorf("changes %s, lib is %q", repotest.Summary(got.Changes), r.Tree(got.Tree)["lib"])
		}
	}
	repotest.Absent(t, marker)
}

func TestSecurity11SpecialFiles(t *testing.T) {
	r := newRig(t, map[string]string{".gitignore": "*.sock\ncache/\n", "a": "a\n", "dir/b": "b\n"})
	t.Run("FIFO as .gitignore", func(t *testing.T) {
		w := r.Workspace("1")
		repotest.Remove(t, w, ".gitignore")
		mkfifo(t, filepath.Join(w, ".gitignore"))
		mkfifo(t, filepath.Join(w, "dir", ".gitattributes"))
		r.refusal(t, w, ".gitignore")
	})
	t.Run("FIFO as .gitattributes", func(t *testing.T) {
		w := r.Workspace("2")
		mkfifo(t, filepath.Join(w, "dir", ".gitattributes"))
		r.refusal(t, w, "dir/.gitattributes")
	})
	t.Run("symlink and large file as .gitignore", func(t *testing.T) {
		w := r.Workspace("3")
		repotest.Write(t, w, map[string]string{".gitignore": "->a", "dir/.gitignore": strings.Repeat("x\n", 1<<19+1)})
		r.refusal(t, w, ".gitignore")
		repotest.Write(t, w, map[string]string{".gitignore": "x\n"})
		r.refusal(t, w, "dir/.gitignore")
	})
	t.Run("FIFO in place of a file and beside it", func(t *testing.T) {
		w := r.Workspace("4")
		repotest.Remove(t, w, "a")
		mkfifo(t, filepath.Join(w, "a"))
		mkfifo(t, filepath.Join(w, "dir", "new"))
		r.refusal(t, w, "a", "dir/new")
	})
	t.Run("ignored ones do not matter", func(t *testing.T) {
		w := r.Workspace("5")
		mkfifo(t, filepath.Join(w, "x.sock"))
		repotest.Write(t, w, map[string]string{"cache/f": "f"})
		mkfifo(t, filepath.Join(w, "cache", ".gitignore"))
		if got := r.Snapshot(w).Changes; len(got) != 0 {
			t.Errorf("changes are %s", repotest.Summary(got))
		}
	})
}

func TestSecurity11HardLinks(t *testing.T) {
	r := newRig(t, map[string]string{".gitignore": "node_modules/\n", "a": "a\n", "b": "b\n"})
	w := r.Workspace("coder")
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
	if got := r.Snapshot(w).Changes; len(got) != 0 {
		t.Errorf("an unchanged file with a link in an ignored directory: %s", repotest.Summary(got))
	}
	link(secret, "stolen")
	link(secret, "b")
	r.refusal(t, w, "b", "stolen")
}

func TestSecurity11SymlinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	repotest.Write(t, outside, map[string]string{"secret": "host secret\n", "dir/secret": "host secret\n"})
	r := newRig(t, map[string]string{"a": "a\n", "dir/b": "b\n", "dir/c/d": "d\n", "e/f": "f\n"})
	w := r.Workspace("coder")
	repotest.Remove(t, w, "dir", "e")
	repotest.Write(t, w, map[string]string{
		"dir": "->" + outside + "/dir", "a": "->" + outside + "/secret", "loop": "->.", "e": "->gone",
	})
	got := r.Tree(r.Snapshot(w).Tree)
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
	repotest.Write(t, outside, map[string]string{"b": "host secret\n", "c/d": "host secret\n"})
	swaps := map[string]func(t *testing.T, w string){
		"directory to symlink": func(t *testing.T, w string) {
			repotest.Remove(t, w, "dir")
			repotest.Write(t, w, map[string]string{"dir": "->" + outside})
		},
		"inner directory to symlink": func(t *testing.T, w string) {
			repotest.Remove(t, w, "dir/c")
			repotest.Write(t, w, map[string]string{"dir/c": "->" + outside + "/c"})
		},
		"file to symlink": func(t *testing.T, w string) { repotest.Write(t, w, map[string]string{"dir/b": "->" + outside + "/b"}) },
		"file to FIFO": func(t *testing.T, w string) {
			repotest.Remove(t, w, "dir/c/d")
			mkfifo(t, filepath.Join(w, "dir", "c", "d"))
		},
	}
	points := map[string]func(point, path string) bool{
		"before the directory is read": func(point, path string) bool { return point == "read" && path == "dir" },
		"before the inner one is read": func(point, path string) bool { return point == "read" && path == "dir/c" },
		"before a file is copied":      func(point, path string) bool { return point == "copy" && path == "dir/b" },
		"before git reads the files":   func(point, path string) bool { return point == "index" },
	}
	one := newRig(t, map[string]string{"a": "a\n", "dir/b": "b\n", "dir/c/d": "d\n"})
	for name, swap := range swaps {
		for at, when := range points {
			for _, live := range []bool{false, true} {
				if !live && at == "before a file is copied" {
					continue
				}
				t.Run(name+" "+at, func(t *testing.T) {
					r := &rig{one.For(t)}
					w := r.Workspace("coder")
					repotest.Write(t, w, map[string]string{"dir/b": "changed\n", "dir/c/d": "changed\n"}) // else they are not read
					swapped := false
					spec := r.Spec(w)
					spec.SetHook(func(point, path string) {
						if !swapped && when(point, path) {
							swapped = true
							swap(t, w)
						}
					})
					spec.Live = live
					got, err := workspace.Take(t.Context(), r.Store, spec)
					if !swapped && err == nil {
						t.Fatal("the swap did not happen")
					}
					if err != nil {
						return
					}
					for p, content := range r.Tree(got.Tree) {
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
	w := r.Workspace("coder")
	repotest.Remove(t, w, "AGENTS.md")
	repotest.Write(t, w, map[string]string{
		".claude/settings.json": "evil\n", ".claude/hooks/x": "evil\n", ".mcp.json": "", "a": "b\n",
	})
	spec := r.Spec(w)
	spec.Masked = []string{"AGENTS.md", ".claude", ".mcp.json"}
	got, err := workspace.Take(t.Context(), r.Store, spec)
	if err != nil || repotest.Summary(got.Changes) != "M a" {
		t.Errorf("changes are %s, %v", repotest.Summary(got.Changes), err)
	}
}

func TestSecurity14GrowthIsRefusedBeforeTheFileIsRead(t *testing.T) {
	r := newRig(t, map[string]string{"big": strings.Repeat("x", 5000), "small": "s\n"})
	w := r.Workspace("coder")
	spec := r.Spec(w)
	spec.MaxGrowth = 1000
	repotest.Write(t, w, map[string]string{"big": strings.Repeat("x", 6000), "new": strings.Repeat("n", 1000)})
	if _, err := workspace.Take(t.Context(), r.Store, spec); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	repotest.Write(t, w, map[string]string{"big": strings.Repeat("x", 6001), "new": strings.Repeat("n", 1001)})
	var refused *workspace.RefusedError
	if _, err := workspace.Take(t.Context(), r.Store, spec); !errors.As(err, &refused) || len(refused.Refusals) != 2 {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestSnapshotJudgesOnlyAddedNames(t *testing.T) {
	r := newRig(t, map[string]string{"bad name": "a\n"})
	w := r.Workspace("coder")
	spec := r.Spec(w)
	spec.NameProblem = func(p string) string {
		if strings.Contains(p, " ") {
			return "has a space"
		}
		return ""
	}
	repotest.Write(t, w, map[string]string{"bad name": "b\n"})
	if _, err := workspace.Take(t.Context(), r.Store, spec); err != nil {
		t.Errorf("a name of the base: %v", err)
	}
	repotest.Write(t, w, map[string]string{"another bad": "b\n", "third bad": "b\n"})
	var refused *workspace.RefusedError
	if _, err := workspace.Take(t.Context(), r.Store, spec); !errors.As(err, &refused) || len(refused.Refusals) != 2 {
		t.Errorf("new names: %v", err)
	}
}

func TestLiveSnapshotEqualsTheQuietOne(t *testing.T) {
	r := newRig(t, map[string]string{
		".gitignore": "build/\n!build/keep\n/only-dir/\n", "a": "a\n", "sub/.gitignore": "*.o\n", "tool": "#!/bin/sh\n", "l": "->a",
	})
	w := r.Workspace("coder")
	repotest.Write(t, w, map[string]string{
		"a": "b\n", "sub/x.o": "o", "sub/x.c": "c", "build/x": "x", "only-dir": "a file\n", "new/deep/f": "#!/bin/sh\n", "l2": "->gone",
	})
	repotest.Remove(t, w, "l")
	quiet := r.Snapshot(w)
	spec := r.Spec(w)
	spec.Live = true
	live, err := workspace.Take(t.Context(), r.Store, spec)
	if err != nil || live.Tree != quiet.Tree {
		t.Errorf("live %s, %v\nquiet %s", repotest.Summary(live.Changes), err, repotest.Summary(quiet.Changes))
	}
}

package gitrepo_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

func TestWorkspaceIsACloneWithoutWayBack(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	git(t, r.clone, "tag", "-a", "-m", "v1", "v1")
	write(t, r.clone, map[string]string{"b": "b\n"})
	git(t, r.clone, "add", "b")
	git(t, r.clone, "commit", "-q", "-m", "second")
	git(t, r.clone, "tag", "later")
	git(t, r.clone, "commit", "-q", "--allow-empty", "-m", "third")
	git(t, r.clone, "tag", "future")
	r.fetch("HEAD")
	r.fetch("HEAD~1")
	w := r.workspace("coder")
	for _, c := range []struct{ want, args string }{
		{"work", "symbolic-ref --short HEAD"}, {r.base, "rev-parse HEAD"}, {"", "remote"}, {"", "status --porcelain"},
		{"later\nv1", "tag"}, {"v1-1-g" + r.base[:7], "describe --abbrev=7"},
	} {
		if got := git(t, w, strings.Fields(c.args)...); got != c.want {
			t.Errorf("git %s: %q, want %q", c.args, got, c.want)
		}
	}
	git(t, r.host.Dir(), "pack-refs", "--all")
	if got := git(t, r.workspace("reviewer"), "tag"); got != "later\nv1" {
		t.Errorf("of a packed host repository: tags %q", got)
	}
	if _, err := os.Stat(filepath.Join(w, ".git", "objects", "info", "alternates")); err == nil {
		t.Error("the workspace has alternates")
	}
	config := string(must(os.ReadFile(filepath.Join(w, ".git", "config"))))
	if strings.Contains(config, r.clone) || strings.Contains(config, r.host.Dir()) {
		t.Errorf("the configuration names a place of ours:\n%s", config)
	}
}

func TestWorkspaceIsMadeOnce(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.workspace("coder")
	write(t, w, map[string]string{"a": "work of an agent\n"})
	r.workspace("coder")
	if got := string(must(os.ReadFile(filepath.Join(w, "a")))); got != "work of an agent\n" {
		t.Errorf("made again, a is %q", got)
	}
	other := r.commit(map[string]string{"b": "b\n"}, r.base)
	if _, err := r.host.MakeWorkspace(t.Context(), w, other); !errors.Is(err, gitrepo.ErrOtherBase) {
		t.Errorf("at another commit: %v", err)
	}
	foreign := filepath.Join(t.TempDir(), "mine")
	write(t, foreign, map[string]string{"x": "x"})
	if _, err := r.host.MakeWorkspace(t.Context(), foreign, r.base); err == nil {
		t.Error("a foreign directory was taken for a workspace")
	}
	if err := os.MkdirAll(filepath.Join(w, "locked", "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(w, "locked"), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := gitrepo.RemoveWorkspace(w); err != nil {
			t.Fatal(err)
		}
	}
	if left := must(filepath.Glob(w + "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	if _, err := r.host.MakeWorkspace(t.Context(), w, other); err != nil {
		t.Error(err)
	}
}

func TestWorkspaceMakingKilledAtEachGitStep(t *testing.T) {
	killed(t, func(*rig) {}, func(t *testing.T, r *rig) (string, error) {
		dir := filepath.Join(r.state, "workspaces", "s", "x")
		made, err := r.host.MakeWorkspace(t.Context(), dir, r.base)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(made.Base, git(t, dir, "rev-parse", "work"), git(t, dir, "status", "--porcelain")), nil
	})
}

func TestWorkspaceCountsWhatIsNotFetched(t *testing.T) {
	r := newRig(t, map[string]string{
		".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin": "version https://git-lfs\n", "sub/b.bin": "x", "c.txt": "c",
		"sub/.gitattributes": "none.bin -filter\n", "sub/none.bin": "x",
	})
	git(t, r.clone, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib")
	git(t, r.clone, "commit", "-q", "-m", "submodule")
	r.fetch("HEAD")
	made, err := r.host.MakeWorkspace(t.Context(), filepath.Join(r.state, "w"), r.base)
	if err != nil || made.Submodules != 1 || made.LFS != 2 {
		t.Errorf("got %+v, %v", made, err)
	}
}

func TestFirstSnapshotDoesNotReadUnchangedFiles(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.workspace("coder")
	before := must(os.ReadFile(gitrepo.WorkspaceIndex(w)))
	r.snapshot(w)
	if after := must(os.ReadFile(gitrepo.WorkspaceIndex(w))); len(before) == 0 || len(after) != len(before) {
		t.Errorf("index of %d bytes became %d", len(before), len(after))
	}
}

func TestLocalWorkspaceHasContentOfSubmodulesAndLFS(t *testing.T) {
	content := strings.Repeat("large\n", 1000)
	sum := sha256.Sum256([]byte(content))
	oid := hex.EncodeToString(sum[:])
	pointer := func(oid string) string {
		return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(content))
	}
	r := newRig(t, map[string]string{
		".gitattributes": "*.bin filter=lfs -text\n", "a.bin": pointer(oid), "b.bin": pointer(strings.Repeat("0", 64)),
		".gitmodules": "[submodule \"lib name\"]\n\tpath = third/lib\n\turl = ../x\n[submodule \"gone\"]\n\tpath = absent\n\turl = x\n",
	})
	store := filepath.Join(".git", "lfs", "objects", oid[:2], oid[2:4], oid)
	write(t, r.clone, map[string]string{store: content})
	module := filepath.Join(t.TempDir(), "module")
	write(t, module, map[string]string{"lib.go": "lib\n", "run": "#!/bin/sh\n"})
	git(t, module, "init", "-q")
	git(t, module, "add", "-A")
	git(t, module, "commit", "-q", "-m", "lib")
	link := git(t, module, "rev-parse", "HEAD")
	if err := os.MkdirAll(filepath.Join(r.clone, ".git", "modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(module, ".git"), filepath.Join(r.clone, ".git", "modules", "lib name")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"third/lib", "absent"} {
		git(t, r.clone, "update-index", "--add", "--cacheinfo", "160000,"+link+","+p)
	}
	git(t, r.clone, "commit", "-q", "-m", "submodules")
	r.fetch("HEAD")
	dir := filepath.Join(r.state, "w")
	made, err := r.host.MakeLocalWorkspace(t.Context(), dir, r.base, r.clone)
	if err != nil || made.Submodules != 1 || made.LFS != 1 {
		t.Fatalf("got %+v, %v", made, err)
	}
	if got := string(must(os.ReadFile(filepath.Join(dir, "third", "lib", "lib.go")))); got != "lib\n" {
		t.Errorf("submodule holds %q", got)
	}
	if info := must(os.Stat(filepath.Join(dir, "third", "lib", "run"))); info.Mode().Perm()&0o333 != 0o111 {
		t.Errorf("mode in the submodule is %v", info.Mode())
	}
	if got := string(must(os.ReadFile(filepath.Join(dir, "a.bin")))); got != content {
		t.Errorf("a.bin holds %d bytes", len(got))
	}
	for _, live := range []bool{false, true} {
		spec := r.spec(dir)
		spec.Live = live
		s, err := r.host.Snapshot(t.Context(), spec)
		if err != nil || len(s.Changes) != 0 {
			t.Errorf("live %v: untouched workspace: %s, %v", live, summary(s.Changes), err)
		}
	}
	write(t, dir, map[string]string{"a.bin": strings.Replace(content, "large", "LARGE", 1)})
	remove(t, dir, "b.bin")
	if got := summary(r.snapshot(dir).Changes); got != "D b.bin, M a.bin" {
		t.Errorf("changed: %s", got)
	}
	remove(t, dir, "a.bin")
	if got := summary(r.snapshot(dir).Changes); got != "D a.bin, D b.bin" {
		t.Errorf("removed: %s", got)
	}
	if err := gitrepo.RemoveWorkspace(dir); err != nil {
		t.Error(err)
	}
	if left := must(filepath.Glob(dir + "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// An index that is younger than the one it was copied from would hide a change of the
// same size made in the moment after the checkout.
func TestTheKeptIndexHasTheTimeOfTheCheckout(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.workspace("coder")
	kept, made := must(os.Stat(gitrepo.WorkspaceIndex(w))), must(os.Stat(filepath.Join(w, ".git", "index")))
	if !kept.ModTime().Equal(made.ModTime()) {
		t.Errorf("the kept index is of %s, the clone's of %s", kept.ModTime(), made.ModTime())
	}
}

package workspace_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

func TestWorkspaceIsACloneWithoutWayBack(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	repotest.Git(t, r.Clone, "tag", "-a", "-m", "v1", "v1")
	repotest.Write(t, r.Clone, map[string]string{"b": "b\n"})
	repotest.Git(t, r.Clone, "add", "b")
	repotest.Git(t, r.Clone, "commit", "-q", "-m", "second")
	repotest.Git(t, r.Clone, "tag", "later")
	repotest.Git(t, r.Clone, "commit", "-q", "--allow-empty", "-m", "third")
	repotest.Git(t, r.Clone, "tag", "future")
	r.Fetch("HEAD")
	r.Fetch("HEAD~1")
	w := r.Workspace("coder")
	for _, c := range []struct{ want, args string }{
		{"work", "symbolic-ref --short HEAD"}, {r.Base, "rev-parse HEAD"}, {"", "remote"}, {"", "status --porcelain"},
		{"later\nv1", "tag"}, {"v1-1-g" + r.Base[:7], "describe --abbrev=7"},
	} {
		t.Run("git "+c.args, func(t *testing.T) {
			if got := repotest.Git(t, w, strings.Fields(c.args)...); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	repotest.Git(t, r.Store.Dir(), "pack-refs", "--all")
	if got := repotest.Git(t, r.Workspace("reviewer"), "tag"); got != "later\nv1" {
		t.Errorf("of a packed store: tags %q", got)
	}
	if _, err := os.Stat(filepath.Join(w, ".git", "objects", "info", "alternates")); err == nil {
		t.Error("the workspace has alternates")
	}
	config := string(repotest.Must(os.ReadFile(filepath.Join(w, ".git", "config"))))
	if strings.Contains(config, r.Clone) || strings.Contains(config, r.Store.Dir()) {
		t.Errorf("the configuration names the clone or the store:\n%s", config)
	}
}

func TestWorkspaceIsMadeOnce(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.Workspace("coder")
	repotest.Write(t, w, map[string]string{"a": "work of an agent\n"})
	r.Workspace("coder")
	if got := string(repotest.Must(os.ReadFile(filepath.Join(w, "a")))); got != "work of an agent\n" {
		t.Errorf("made again, a is %q", got)
	}
	other := r.Commit(map[string]string{"b": "b\n"}, r.Base)
	if _, err := workspace.Make(t.Context(), r.Store, w, other); !errors.Is(err, workspace.ErrOtherBase) {
		t.Errorf("at another commit: %v", err)
	}
	foreign := filepath.Join(t.TempDir(), "mine")
	repotest.Write(t, foreign, map[string]string{"x": "x"})
	if _, err := workspace.Make(t.Context(), r.Store, foreign, r.Base); err == nil {
		t.Error("a foreign directory was taken for a workspace")
	}
	if err := os.MkdirAll(filepath.Join(w, "locked", "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(w, "locked"), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := workspace.Remove(w); err != nil {
			t.Fatal(err)
		}
	}
	if left := repotest.Must(filepath.Glob(w + "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	if _, err := workspace.Make(t.Context(), r.Store, w, other); err != nil {
		t.Error(err)
	}
}

func TestWorkspaceMakingKilledAtEachGitStep(t *testing.T) {
	repotest.Killed(t, func(*repotest.Rig) {}, func(t *testing.T, r *repotest.Rig) (string, error) {
		dir := filepath.Join(r.State, "workspaces", "s", "x")
		made, err := workspace.Make(t.Context(), r.Store, dir, r.Base)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(made.Base, repotest.Git(t, dir, "rev-parse", "work"), repotest.Git(t, dir, "status", "--porcelain")), nil
	})
}

func TestFirstSnapshotDoesNotReadUnchangedFiles(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.Workspace("coder")
	before := repotest.Must(os.ReadFile(workspace.Index(w)))
	r.Snapshot(w)
	if after := repotest.Must(os.ReadFile(workspace.Index(w))); len(before) == 0 || len(after) != len(before) {
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
	repotest.Write(t, r.Clone, map[string]string{store: content})
	module := filepath.Join(t.TempDir(), "module")
	repotest.Write(t, module, map[string]string{"lib.go": "lib\n", "run": "#!/bin/sh\n"})
	repotest.Git(t, module, "init", "-q")
	repotest.Git(t, module, "add", "-A")
	repotest.Git(t, module, "commit", "-q", "-m", "lib")
	link := repotest.Git(t, module, "rev-parse", "HEAD")
	if err := os.MkdirAll(filepath.Join(r.Clone, ".git", "modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(module, ".git"), filepath.Join(r.Clone, ".git", "modules", "lib name")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"third/lib", "absent"} {
		repotest.Git(t, r.Clone, "update-index", "--add", "--cacheinfo", "160000,"+link+","+p)
	}
	repotest.Git(t, r.Clone, "commit", "-q", "-m", "submodules")
	r.Fetch("HEAD")
	if submodules, files, err := workspace.Lacking(t.Context(), r.Store, r.Base, r.Clone); submodules != 1 || files != 1 || err != nil {
		t.Errorf("lacks %d submodules and %d files, %v", submodules, files, err)
	}
	dir := filepath.Join(r.State, "w")
	if _, err := workspace.MakeLocal(t.Context(), r.Store, dir, r.Base, r.Clone); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(filepath.Join(dir, "absent")); err != nil || len(names) > 0 {
		t.Errorf("a submodule that the clone does not have: %v, %v", names, err)
	}
	if got := string(repotest.Must(os.ReadFile(filepath.Join(dir, "b.bin")))); got != pointer(strings.Repeat("0", 64)) {
		t.Errorf("b.bin holds %q", got)
	}
	if got := string(repotest.Must(os.ReadFile(filepath.Join(dir, "third", "lib", "lib.go")))); got != "lib\n" {
		t.Errorf("submodule holds %q", got)
	}
	if info := repotest.Must(os.Stat(filepath.Join(dir, "third", "lib", "run"))); info.Mode().Perm()&0o333 != 0o111 {
		t.Errorf("mode in the submodule is %v", info.Mode())
	}
	if got := string(repotest.Must(os.ReadFile(filepath.Join(dir, "a.bin")))); got != content {
		t.Errorf("a.bin holds %d bytes", len(got))
	}
	for _, live := range []bool{false, true} {
		spec := r.Spec(dir)
		spec.Live = live
		s, err := workspace.Take(t.Context(), r.Store, spec)
		if err != nil || len(s.Changes) != 0 {
			t.Errorf("live %v: untouched workspace: %s, %v", live, repotest.Summary(s.Changes), err)
		}
	}
	repotest.Write(t, dir, map[string]string{"a.bin": strings.Replace(content, "large", "LARGE", 1)})
	repotest.Remove(t, dir, "b.bin")
	if got := repotest.Summary(r.Snapshot(dir).Changes); got != "D b.bin, M a.bin" {
		t.Errorf("changed: %s", got)
	}
	repotest.Remove(t, dir, "a.bin")
	if got := repotest.Summary(r.Snapshot(dir).Changes); got != "D a.bin, D b.bin" {
		t.Errorf("removed: %s", got)
	}
	if err := workspace.Remove(dir); err != nil {
		t.Error(err)
	}
	if left := repotest.Must(filepath.Glob(dir + "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// An index that is younger than the one it was copied from would hide a change of the
// same size made in the moment after the checkout.
func TestTheKeptIndexHasTheTimeOfTheCheckout(t *testing.T) {
	r := newRig(t, map[string]string{"a": "a\n"})
	w := r.Workspace("coder")
	kept, made := repotest.Must(os.Stat(workspace.Index(w))), repotest.Must(os.Stat(filepath.Join(w, ".git", "index")))
	if !kept.ModTime().Equal(made.ModTime()) {
		t.Errorf("the kept index is of %s, the clone's of %s", kept.ModTime(), made.ModTime())
	}
}

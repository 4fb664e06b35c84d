package gitrepo_test

import (
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

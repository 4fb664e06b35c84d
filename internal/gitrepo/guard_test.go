package gitrepo_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// TestSecurity36TheStoreObeysThisProgramAlone has files in it that an agent of the same user
// can write, before each call.
func TestSecurity36TheStoreObeysThisProgramAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "x.git")
	h, err := gitrepo.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	h.Restored = func(file string) { told = append(told, file) }
	away := t.TempDir()
	marker := filepath.Join(away, "ran")
	hostile := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[filter \"x\"]\n\tclean = touch " + marker + "; cat\n" +
		"[http]\n\tproxy = http://127.0.0.1:1\n[include]\n\tpath = " + away + "/more\n"
	files := map[string]string{
		"config": hostile, "config.worktree": hostile, "info/attributes": "* filter=x\n", "info/grafts": "x\n", "info/exclude": "*\n",
		"objects/info/alternates": away + "\n", "commondir": away + "\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clone := t.TempDir()
	repotest.Git(t, clone, "init", "-q", "-b", "main")
	repotest.Write(t, clone, map[string]string{"a.txt": "a\n"})
	repotest.Git(t, clone, "add", "-A")
	repotest.Git(t, clone, "commit", "-q", "-m", "one")
	base, err := h.FetchClone(t.Context(), clone, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if !slices.Contains(told, filepath.FromSlash(name)) {
			t.Errorf("%s was not told of: %q", name, told)
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); name != "config" && err == nil {
			t.Errorf("%s is there still", name)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, "config")); err != nil || string(now) != string(was) {
		t.Errorf("config is %q, %v; want %q", now, err, was)
	}

	// Between two calls.
	for _, name := range []string{"config", "info/attributes"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Make(t.Context(), h, filepath.Join(t.TempDir(), "w"), base)
	if err != nil {
		t.Fatal(err)
	}
	repotest.Write(t, w.Path, map[string]string{"a.txt": "b\n"})
	if _, err := workspace.Take(t.Context(), h, workspace.SnapshotSpec{Workspace: w.Path, Index: w.Index, Base: base, MaxGrowth: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a filter of an agent ran in this process's name")
	}
}

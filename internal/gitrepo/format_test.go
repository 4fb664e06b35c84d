package gitrepo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

// TestFormatsAreNotLeftToGit has a git that makes repositories of another kind unless it is
// told otherwise, as a later one may.
func TestFormatsAreNotLeftToGit(t *testing.T) {
	dir := t.TempDir()
	other := fmt.Sprintf("#!/bin/sh\nexport GIT_DEFAULT_HASH=\"${GIT_DEFAULT_HASH:-sha256}\" GIT_DEFAULT_REF_FORMAT=\"${GIT_DEFAULT_REF_FORMAT:-reftable}\"\n"+
		"[ \"$GIT_DEFAULT_REF_FORMAT\" = files ] || exit 70\nexec %s \"$@\"\n", repotest.RealGit)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(other), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	h, err := gitrepo.Open(t.Context(), filepath.Join(t.TempDir(), "x.git"))
	if err != nil {
		t.Fatal(err)
	}
	if format := repotest.Git(t, h.Dir(), "rev-parse", "--show-object-format"); format != "sha1" {
		t.Errorf("the store has objects of %s", format)
	}
	clone := t.TempDir()
	repotest.Git(t, clone, "init", "-q", "-b", "main")
	repotest.Write(t, clone, map[string]string{"a.txt": "a\n"})
	repotest.Git(t, clone, "add", "-A")
	repotest.Git(t, clone, "commit", "-q", "-m", "one")
	sha, err := h.FetchClone(t.Context(), clone, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Make(t.Context(), h, filepath.Join(t.TempDir(), "w"), sha)
	if err != nil {
		t.Fatal(err)
	}
	if log := repotest.Git(t, w.Path, "log", "--format=%H"); !strings.Contains(log, sha) {
		t.Errorf("the workspace has %s", log)
	}
}

package remote_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/repotest"
)

// TestWhatIsHeldOutlivesARewrittenBranch fetches the base as a branch of a server, and then
// the branch as it is after a forced push.
func TestWhatIsHeldOutlivesARewrittenBranch(t *testing.T) {
	srv := newServer(t)
	person := filepath.Join(t.TempDir(), "person")
	repotest.Git(t, t.TempDir(), "clone", "-q", srv.repo, person)
	push := func(content string) string {
		repotest.Write(t, person, map[string]string{"a": content})
		repotest.Git(t, person, "checkout", "-q", "--orphan", strings.TrimSpace(content))
		repotest.Git(t, person, "add", "-A")
		repotest.Git(t, person, "commit", "-q", "-m", content)
		repotest.Git(t, person, "push", "-q", "--force", "origin", "HEAD:main")
		return repotest.Git(t, person, "rev-parse", "HEAD")
	}
	store, err := gitrepo.Open(t.Context(), gitrepo.LocalStorePath(t.TempDir(), person))
	if err != nil {
		t.Fatal(err)
	}
	fetch := func() {
		t.Helper()
		if err := srv.remote().Fetch(t.Context(), store, "+refs/heads/main:refs/remotes/origin/main"); err != nil {
			t.Fatal(err)
		}
	}
	held := push("held\n")
	fetch()
	for range 2 {
		if err := store.Hold(t.Context(), gitrepo.StartRef("s-1"), held); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("again", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir()) // there is no git
		if err := store.Hold(t.Context(), gitrepo.StartRef("s-1"), held); err != nil {
			t.Error(err)
		}
		if at, err := store.Ref(t.Context(), gitrepo.StartRef("s-1")); err != nil || at != held {
			t.Errorf("the ref is at %q, %v", at, err)
		}
	})
	let := push("free\n")
	fetch()
	push("last\n")
	fetch()
	repotest.Git(t, store.Dir(), "gc", "--quiet", "--prune=now")
	if got := repotest.Git(t, store.Dir(), "show", held+":a"); got != "held" {
		t.Errorf("the held commit has %q", got)
	}
	if err := store.Hold(t.Context(), gitrepo.StartRef("s-2"), let); !errors.Is(err, gitrepo.ErrNoCommit) {
		t.Errorf("hold of a commit that went: %v", err)
	}
	if at := repotest.Must(store.Ref(t.Context(), gitrepo.StartRef("s-2"))); at != "" {
		t.Errorf("a ref to nothing: %s", at)
	}
}

package gitrepo_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// TestWhatIsHeldOutlivesARewrittenBranch fetches the base as a branch of a server, and then
// the branch as it is after a forced push.
func TestWhatIsHeldOutlivesARewrittenBranch(t *testing.T) {
	srv := newServer(t)
	person := filepath.Join(t.TempDir(), "person")
	git(t, t.TempDir(), "clone", "-q", srv.repo, person)
	push := func(content string) string {
		write(t, person, map[string]string{"a": content})
		git(t, person, "checkout", "-q", "--orphan", strings.TrimSpace(content))
		git(t, person, "add", "-A")
		git(t, person, "commit", "-q", "-m", content)
		git(t, person, "push", "-q", "--force", "origin", "HEAD:main")
		return git(t, person, "rev-parse", "HEAD")
	}
	host, err := gitrepo.OpenHost(t.Context(), gitrepo.LocalHostPath(t.TempDir(), person))
	if err != nil {
		t.Fatal(err)
	}
	fetch := func() {
		t.Helper()
		if err := host.FetchRemote(t.Context(), srv.remote(), "+refs/heads/main:refs/remotes/origin/main"); err != nil {
			t.Fatal(err)
		}
	}
	held := push("held\n")
	fetch()
	for range 2 {
		if err := host.Hold(t.Context(), gitrepo.StartRef("s-1"), held); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("again", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir()) // there is no git
		if err := host.Hold(t.Context(), gitrepo.StartRef("s-1"), held); err != nil {
			t.Error(err)
		}
		if at, err := host.Ref(t.Context(), gitrepo.StartRef("s-1")); err != nil || at != held {
			t.Errorf("the ref is at %q, %v", at, err)
		}
	})
	let := push("free\n")
	fetch()
	push("last\n")
	fetch()
	git(t, host.Dir(), "gc", "--quiet", "--prune=now")
	if got := git(t, host.Dir(), "show", held+":a"); got != "held" {
		t.Errorf("the held commit has %q", got)
	}
	if err := host.Hold(t.Context(), gitrepo.StartRef("s-2"), let); !errors.Is(err, gitrepo.ErrNoCommit) {
		t.Errorf("hold of a commit that went: %v", err)
	}
	if at := must(host.Ref(t.Context(), gitrepo.StartRef("s-2"))); at != "" {
		t.Errorf("a ref to nothing: %s", at)
	}
}

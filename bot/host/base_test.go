package host_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/testfull"
)

// base asks where a session would start, and fails if the clone is another one after it.
func (r *githubRig) base(t *testing.T, named string) (project.Base, error) {
	t.Helper()
	before := r.clonePicture()
	p, err := r.host.Project(context.Background(), r.project, r.config)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Base(context.Background(), r.config, named)
	if after := r.clonePicture(); after != before {
		t.Errorf("the clone changed:\n%s\nwas:\n%s", after, before)
	}
	return b, err
}

// clonePicture is everything of a clone that its person could miss.
func (r *githubRig) clonePicture() string {
	r.t.Helper()
	var b strings.Builder
	for _, args := range [][]string{
		{"status", "--porcelain=v2", "--branch"}, {"for-each-ref"}, {"config", "--list", "--local"}, {"count-objects", "-v"}, {"stash", "list"},
	} {
		b.WriteString(r.git(args...) + "\n")
	}
	for _, name := range []string{"HEAD", "index"} {
		data, err := os.ReadFile(filepath.Join(r.project, ".git", name))
		if err != nil && !os.IsNotExist(err) {
			r.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%x\n", sha256.Sum256(data))
	}
	return b.String()
}

func (r *githubRig) serverCommit(branch string) string {
	return r.repo.Commit(fakehub.CommitSpec{
		Branch: branch, Message: "Two", Author: "Mia <mia@example.com>", Files: map[string]string{"x": "y"},
	})
}

func (r *githubRig) ownCommit() {
	r.write("new.txt", "x")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "mine")
}

// In each state a clone can be in: the commit a session starts from, the branch its pull
// request goes to, and what the person is told.
func TestProtocolD5WhereTheBaseComesFrom(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	const leftOut = "1 changed file and 1 unpushed commit are not included; use --base HEAD for the commits"
	for name, c := range map[string]struct {
		prepare func(r *githubRig) (sha string)
		named   string
		branch  string
		local   bool
		notes   []string // what each begins with
	}{
		"behind": {prepare: func(r *githubRig) string { return r.serverCommit("main") }, branch: "main"},
		"dirty": {
			prepare: func(r *githubRig) string { r.write("README.md", "changed\n"); return r.git("rev-parse", "origin/main") },
			branch:  "main", notes: []string{"1 changed file is not included; only commits are"},
		},
		"unpushed and dirty": {
			prepare: func(r *githubRig) string {
				r.ownCommit()
				r.write("README.md", "x\n")
				return r.git("rev-parse", "origin/main")
			},
			branch: "main", notes: []string{leftOut},
		},
		"--base HEAD": {
			prepare: func(r *githubRig) string { r.ownCommit(); return r.git("rev-parse", "HEAD") },
			named:   "HEAD", branch: "main", local: true,
		},
		"--base a commit": {
			prepare: func(r *githubRig) string { r.ownCommit(); r.ownBranch("other"); return r.git("rev-parse", "HEAD~1") },
			named:   "HEAD~1", branch: "main", local: true,
		},
		"--base a branch of the server": {prepare: func(r *githubRig) string { return r.serverCommit("next") }, named: "next", branch: "next"},
		"configured": {
			prepare: func(r *githubRig) string { r.config.GitHub.BaseBranch = "next"; return r.serverCommit("next") }, branch: "next",
		},
		"detached": {
			prepare: func(r *githubRig) string { r.git("checkout", "-q", "--detach"); return r.serverCommit("main") }, branch: "main",
		},
		"offline": {
			prepare: func(r *githubRig) string {
				r.github.Inject(fakehub.Unavailable("", 503, 0))
				return r.git("rev-parse", "origin/main")
			}, branch: "main", notes: []string{"the server was not reached"},
		},
		"offline, nothing fetched": {
			prepare: func(r *githubRig) string {
				r.git("remote", "remove", "origin")
				r.git("remote", "add", "origin", r.github.CloneURL("acme/widgets"))
				r.write("README.md", "changed\n")
				r.github.Inject(fakehub.Unavailable("", 503, 0))
				return r.git("rev-parse", "HEAD")
			}, branch: "main", notes: []string{
				"1 changed file is not included; only commits are",
				"the server was not reached: starting from the HEAD of this clone, which has fetched nothing of main, commit ",
			},
		},
		"no remote": {
			prepare: func(r *githubRig) string {
				r.git("remote", "remove", "origin")
				r.ownCommit()
				return r.git("rev-parse", "HEAD")
			}, branch: "main",
		},
		"no remote, detached": {
			prepare: func(r *githubRig) string {
				r.git("remote", "remove", "origin")
				r.git("checkout", "-q", "--detach")
				return r.git("rev-parse", "HEAD")
			},
		},
		"SSH origin": {
			prepare: func(r *githubRig) string {
				r.git("remote", "set-url", "origin", "git@127.0.0.1:acme/widgets.git")
				return r.serverCommit("main")
			}, branch: "main",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitHubRig(t, "")
			defer r.github.Heal()
			want := c.prepare(r)
			b, err := r.base(t, c.named)
			if err != nil || b.SHA != want || b.Branch != c.branch || b.Local != c.local {
				t.Errorf("%+v, %v; want %s, %q, local %v", b, err, want, c.branch, c.local)
			}
			if !slices.EqualFunc(b.Notes, c.notes, strings.HasPrefix) {
				t.Errorf("notes %q, want %q", b.Notes, c.notes)
			}
		})
	}
}

// ownBranch leaves one more commit on a branch of its own.
func (r *githubRig) ownBranch(name string) {
	r.git("checkout", "-q", "-b", name)
	r.write("more.txt", "x")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "more")
}

func TestProtocolD5NothingToStartFrom(t *testing.T) {
	t.Parallel()
	t.Run("no commit", func(t *testing.T) {
		r := newGitHubRig(t, "")
		if err := os.RemoveAll(filepath.Join(r.project, ".git")); err != nil {
			t.Fatal(err)
		}
		r.git("init", "-q", "-b", "main")
		if _, err := r.base(t, ""); !errors.Is(err, project.ErrNoCommit) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("nothing of that name", func(t *testing.T) {
		r := newGitHubRig(t, "")
		if _, err := r.base(t, "nowhere"); err == nil || !strings.Contains(err.Error(), "--base nowhere") {
			t.Errorf("error %v", err)
		}
	})
}

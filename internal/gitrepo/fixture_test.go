package gitrepo_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

var someone = gitrepo.Signature{Name: "Ada", Mail: "ada@example.test"}

var aDate = time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)

// realGit is git as it is before a test puts another into PATH.
var realGit, _ = exec.LookPath("git")

// git runs git in dir as a person would, with a fixed identity.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(realGit, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(os.TempDir(), "no-home"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.test", "GIT_AUTHOR_DATE=@1700000000 +0000",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.test", "GIT_COMMITTER_DATE=@1700000000 +0000",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// write makes files below dir. Content starting with "->" is a symlink's target,
// with "#!" an executable file.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(p)
		var err error
		switch {
		case strings.HasPrefix(content, "->"):
			err = os.Symlink(content[2:], p)
		case strings.HasPrefix(content, "#!"):
			err = os.WriteFile(p, []byte(content), 0o755)
		default:
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := os.RemoveAll(filepath.Join(dir, n)); err != nil {
			t.Fatal(err)
		}
	}
}

// rig is a person's clone and the host repository of its project.
type rig struct {
	t     *testing.T
	clone string
	state string
	host  *gitrepo.Host
	base  string
}

func newRig(t *testing.T, files map[string]string) *rig {
	t.Helper()
	r := &rig{t: t, clone: filepath.Join(t.TempDir(), "clone"), state: t.TempDir()}
	if err := os.Mkdir(r.clone, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, r.clone, "init", "-q", "-b", "main")
	write(t, r.clone, files)
	git(t, r.clone, "add", "-A")
	git(t, r.clone, "commit", "-q", "--allow-empty", "-m", "first")
	r.openHost()
	r.fetch("HEAD")
	return r
}

func (r *rig) openHost() {
	r.t.Helper()
	h, err := gitrepo.OpenHost(r.t.Context(), gitrepo.LocalHostPath(r.state, r.clone))
	if err != nil {
		r.t.Fatal(err)
	}
	r.host = h
}

func (r *rig) fetch(rev string) {
	r.t.Helper()
	sha, err := r.host.FetchClone(r.t.Context(), r.clone, rev)
	if err != nil {
		r.t.Fatal(err)
	}
	r.base = sha
}

// workspace makes one at the rig's base.
func (r *rig) workspace(name string) string { return r.workspaceAt(name, r.base) }

func (r *rig) workspaceAt(name, commit string) string {
	r.t.Helper()
	dir := filepath.Join(r.state, "workspaces", "s", name)
	if _, err := r.host.MakeWorkspace(r.t.Context(), dir, commit); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

func (r *rig) spec(w string) gitrepo.SnapshotSpec {
	return gitrepo.SnapshotSpec{Workspace: w, Index: gitrepo.WorkspaceIndex(w), Base: r.base}
}

func (r *rig) snapshot(w string) gitrepo.Snapshot {
	r.t.Helper()
	s, err := r.host.Snapshot(r.t.Context(), r.spec(w))
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// tree is the content of a tree: "mode content" by path.
func (r *rig) tree(rev string) map[string]string {
	r.t.Helper()
	entries, err := r.host.Entries(r.t.Context(), rev)
	if err != nil {
		r.t.Fatal(err)
	}
	content := map[string]string{}
	for _, e := range entries {
		if e.Gitlink() {
			content[e.Path] = e.Mode + " " + e.ID
			continue
		}
		b, err := r.host.Blob(r.t.Context(), e.ID, 1<<20)
		if err != nil {
			r.t.Fatal(err)
		}
		content[e.Path] = e.Mode + " " + string(b)
	}
	return content
}

func summary(changes []gitrepo.Change) string {
	var list []string
	for _, c := range changes {
		list = append(list, string(c.Status)+" "+c.Path)
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

// integrate takes a snapshot of w and integrates it on head.
func (r *rig) integrate(w, launch, head string, owned ...string) (gitrepo.IntegrateResult, error) {
	r.t.Helper()
	return r.host.Integrate(context.Background(), gitrepo.IntegrateSpec{
		Session: "s1", Launch: launch, Task: launch, Tree: r.snapshot(w).Tree, Base: r.base, Head: head,
		Owned: owned, Author: someone, Date: aDate,
	})
}

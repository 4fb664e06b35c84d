package repotest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
)

var Someone = gitrepo.Signature{Name: "Ada", Mail: "ada@example.test"}

var Date = time.Date(2026, 11, 21, 10, 4, 31, 0, time.UTC)

// RealGit is git as it is before a test puts another into PATH.
var RealGit, _ = exec.LookPath("git")

// Git runs git in dir as a person would, with a fixed identity.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(RealGit, args...)
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

// Write makes files below dir. Content starting with "->" is a symlink's target,
// with "#!" an executable file.
func Write(t testing.TB, dir string, files map[string]string) {
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

func Remove(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := os.RemoveAll(filepath.Join(dir, n)); err != nil {
			t.Fatal(err)
		}
	}
}

// Rig is a person's clone and the store of its project.
type Rig struct {
	T     testing.TB
	Clone string // where the clone lies
	State string // the state home
	Store *gitrepo.Store
	Base  string // the commit of the clone that was fetched last
}

func New(t testing.TB, files map[string]string) *Rig {
	t.Helper()
	r := &Rig{T: t, Clone: filepath.Join(t.TempDir(), "clone"), State: t.TempDir()}
	if err := os.Mkdir(r.Clone, 0o755); err != nil {
		t.Fatal(err)
	}
	same := key(files)
	if same != "" && r.fill(same) {
		r.OpenStore()
		r.Fetch("HEAD")
		return r
	}
	Git(t, r.Clone, "init", "-q", "-b", "main")
	configure(t, r.Clone, "[gc]\n\tauto = 0\n") // one in the background outlives a test with many files
	Write(t, r.Clone, files)
	Git(t, r.Clone, "add", "-A")
	Git(t, r.Clone, "commit", "-q", "--allow-empty", "-m", "first")
	r.OpenStore()
	r.Fetch("HEAD")
	r.keep(same)
	return r
}

// For is the same clone and the same store for a subtest, with workspaces of its own.
func (r *Rig) For(t testing.TB) *Rig {
	return &Rig{T: t, Clone: r.Clone, State: t.TempDir(), Store: r.Store, Base: r.Base}
}

func configure(t testing.TB, repository, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(repository, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func (r *Rig) OpenStore() {
	r.T.Helper()
	h, err := gitrepo.Open(r.T.Context(), gitrepo.LocalStorePath(r.State, r.Clone))
	if err != nil {
		r.T.Fatal(err)
	}
	r.Store = h
}

func (r *Rig) Fetch(rev string) {
	r.T.Helper()
	sha, err := r.Store.FetchClone(r.T.Context(), r.Clone, rev)
	if err != nil {
		r.T.Fatal(err)
	}
	r.Base = sha
}

// Workspace makes one at the rig's base.
func (r *Rig) Workspace(name string) string { return r.WorkspaceAt(name, r.Base) }

func (r *Rig) WorkspaceAt(name, commit string) string {
	r.T.Helper()
	dir := filepath.Join(r.State, "workspaces", "s", name)
	if _, err := workspace.Make(r.T.Context(), r.Store, dir, commit); err != nil {
		r.T.Fatal(err)
	}
	return dir
}

func (r *Rig) Spec(w string) workspace.SnapshotSpec {
	return workspace.SnapshotSpec{Workspace: w, Index: workspace.Index(w), Base: r.Base}
}

func (r *Rig) Snapshot(w string) workspace.Snapshot {
	r.T.Helper()
	s, err := workspace.Take(r.T.Context(), r.Store, r.Spec(w))
	if err != nil {
		r.T.Fatal(err)
	}
	return s
}

// Tree is the content of a tree: "mode content" by path.
func (r *Rig) Tree(rev string) map[string]string {
	r.T.Helper()
	entries, err := r.Store.Entries(r.T.Context(), rev)
	if err != nil {
		r.T.Fatal(err)
	}
	content := map[string]string{}
	for _, e := range entries {
		if e.Gitlink() {
			content[e.Path] = e.Mode + " " + e.ID
			continue
		}
		b, err := r.Store.Blob(r.T.Context(), e.ID, 1<<20)
		if err != nil {
			r.T.Fatal(err)
		}
		content[e.Path] = e.Mode + " " + string(b)
	}
	return content
}

func Summary(changes []gitrepo.Change) string {
	var list []string
	for _, c := range changes {
		list = append(list, string(c.Status)+" "+c.Path)
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

// Integrate takes a snapshot of w and integrates it on head.
func (r *Rig) Integrate(w, launch, head string, owned ...string) (gitrepo.IntegrateResult, error) {
	r.T.Helper()
	return r.Store.Integrate(context.Background(), gitrepo.IntegrateSpec{
		Session: "s1", Launch: launch, Task: launch, Tree: r.Snapshot(w).Tree, Base: r.Base, Head: head,
		Owned: owned, Author: Someone, Date: Date,
	})
}

func (r *Rig) Commit(files map[string]string, parents ...string) string {
	r.T.Helper()
	w := r.WorkspaceAt("w"+strings.Join(parents, ""), parents[0])
	Write(r.T, w, files)
	s, err := workspace.Take(r.T.Context(), r.Store, workspace.SnapshotSpec{Workspace: w, Index: workspace.Index(w), Base: parents[0]})
	if err != nil {
		r.T.Fatal(err)
	}
	sha, err := r.Store.Commit(r.T.Context(), gitrepo.CommitSpec{
		Tree: s.Tree, Parents: parents, Message: "work\n", Author: Someone, Date: Date,
	})
	if err != nil {
		r.T.Fatal(err)
	}
	if err := workspace.Remove(w); err != nil {
		r.T.Fatal(err)
	}
	return sha
}

// Must returns what a call that must not fail returned.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// ErrOtherBase says that a workspace exists, made at another commit.
var ErrOtherBase = errors.New("workspace was made at another commit")

// Workspace is what Make made or found.
type Workspace struct {
	Path  string
	Base  string // the commit it was made at
	Index string // the index for its snapshots, outside of it
}

// Make ensures a clone at dir, on branch work, whose head is commit, with
// its history and the tags that point into it; no remote, no alternates, no content
// of submodules or LFS. A workspace that is complete is left as it is, whatever an
// agent did in it; a half-made one is made again. ErrOtherBase if it was made at
// another commit: Remove first.
func Make(ctx context.Context, store *gitrepo.Store, dir, commit string) (Workspace, error) {
	m := maker{Store: store, dir: dir}
	w, err := m.ensure(ctx, commit)
	if err != nil {
		return Workspace{}, fmt.Errorf("make workspace %s: %w", filepath.Base(dir), err)
	}
	return w, nil
}

// A maker makes one workspace.
type maker struct {
	*gitrepo.Store
	dir   string // its place
	sha   string // its commit
	clone string // the git directory of the clone that content is taken from; "" for none
}

func (m *maker) ensure(ctx context.Context, commit string) (w Workspace, err error) {
	if !filepath.IsAbs(m.dir) {
		return Workspace{}, fmt.Errorf("path %q is not absolute", m.dir)
	}
	if m.sha, err = m.Resolve(ctx, commit); err != nil {
		return Workspace{}, err
	}
	switch base, err := Base(m.dir); {
	case err == nil && base != m.sha:
		return Workspace{}, fmt.Errorf("%w: %s", ErrOtherBase, base)
	case errors.Is(err, fs.ErrNotExist):
		if err := m.build(ctx); err != nil {
			return Workspace{}, err
		}
	case err != nil:
		return Workspace{}, err
	}
	return Workspace{Path: m.dir, Base: m.sha, Index: Index(m.dir)}, nil
}

// Index is where the index for snapshots of a workspace is kept.
func Index(dir string) string { return dir + ".index" }

// Base reads the commit a complete workspace was made at; fs.ErrNotExist if there is none. The
// workspace is renamed to its place last, so it is complete when it is there.
func Base(dir string) (string, error) {
	if info, err := os.Lstat(dir); err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	base, err := os.ReadFile(dir + ".base")
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s exists and is not a workspace", dir)
	}
	return strings.TrimSpace(string(base)), err
}

// build makes the clone beside its place and renames it when everything that
// belongs to it is written.
func (m *maker) build(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		return err
	}
	tmp := Making(m.dir)
	// What is kept of LFS may be of one that was begun in another way.
	if err := errors.Join(gitrepo.RemoveAll(tmp), gitrepo.RemoveAll(m.dir+".lfs")); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	crash.Point("begin workspace", "")
	err := m.checkOut(ctx, tmp)
	if err != nil && ctx.Err() == nil && m.DropHistories() {
		// What was kept may be damaged.
		if err = errors.Join(gitrepo.RemoveAll(tmp), os.Mkdir(tmp, 0o700)); err == nil {
			err = m.checkOut(ctx, tmp)
		}
	}
	if err != nil {
		return err
	}
	if m.clone != "" {
		list, err := m.fill(ctx, tmp)
		if err != nil {
			return err
		}
		if err := writeLarge(m.dir, list); err != nil {
			return err
		}
	}
	crash.Point("fill workspace", "")
	return Finish(m.dir, m.sha)
}

// Making is where a workspace is until it is whole. Make replaces what a kill has left there.
func Making(dir string) string { return dir + ".making" }

// Finish puts a workspace that is whole, at a commit, from its place while it is made to its own.
func Finish(dir, commit string) error {
	if err := keepIndex(Making(dir), Index(dir)); err != nil {
		return err
	}
	if err := os.WriteFile(dir+".base", []byte(commit+"\n"), 0o600); err != nil {
		return err
	}
	crash.Point("note base of workspace", "")
	err := os.Rename(Making(dir), dir)
	crash.Point("rename workspace", "")
	return err
}

// checkOut makes the clone in an empty directory. It is the only git that runs under
// a workspace's configuration, which no agent has seen yet.
func (m *maker) checkOut(ctx context.Context, tmp string) error {
	gitDir := filepath.Join(tmp, ".git")
	if err := emptyRepository(ctx, gitDir); err != nil {
		return err
	}
	from, err := m.CopyHistory(ctx, gitDir, m.sha)
	if err != nil {
		return err
	}
	_, err = git.Call{Dir: tmp, GitDir: gitDir, WorkTree: tmp, Args: []string{"checkout", "-q", "work"}}.Run(ctx)
	if err == nil && from == "" {
		m.KeepHistory(gitDir, m.sha)
	}
	return err
}

// emptyRepository makes what git init makes of a work tree without templates, in a
// tenth of its time: an agent waits for it. Where file systems differ in what they make
// of names, git finds out.
func emptyRepository(ctx context.Context, gitDir string) error {
	if runtime.GOOS != "linux" {
		_, err := git.Call{Dir: filepath.Dir(gitDir), Args: []string{"init", "-q", "--template=", "-b", "none"}}.Run(ctx)
		return err
	}
	for _, dir := range []string{"", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"} {
		if err := os.Mkdir(filepath.Join(gitDir, dir), 0o777); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	if err := os.WriteFile(filepath.Join(gitDir, "config"), []byte(config), 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(gitDir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o666)
}

// keepIndex copies the index before an agent sees the clone: its file times spare the
// first snapshot from reading every file.
func keepIndex(tmp, to string) error {
	err := git.CopyIndex(filepath.Join(tmp, ".git", "index"), to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // an empty tree
	}
	return err
}

// Removing is where a workspace is while it is removed. Remove continues what a kill has left there.
func Removing(dir string) string { return dir + ".removing" }

// beside are the ends of the names next to a workspace that belong to it.
var beside = []string{".removing", ".making", ".index.lock", ".index", ".lfs", ".base"}

// Occupied returns what is there already of the places that a workspace needs; "" if all are free.
func Occupied(dir string) string {
	for _, suffix := range append([]string{""}, beside...) {
		if _, err := os.Lstat(dir + suffix); !errors.Is(err, fs.ErrNotExist) {
			return dir + suffix
		}
	}
	return ""
}

// Remove removes a workspace and what is kept beside it. An absent one is
// success. Directories that an agent made unreadable or unwritable go as well.
func Remove(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Dir(dir) == dir {
		return fmt.Errorf("remove workspace: bad path %q", dir)
	}
	// Renamed first: what is at its place is never half of a workspace.
	removing := Removing(dir)
	err := gitrepo.RemoveAll(removing)
	if err == nil {
		err = os.Rename(dir, removing)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove workspace: %w", err)
	}
	crash.Point("rename old workspace", "")
	for _, suffix := range beside {
		p := dir + suffix
		if err := gitrepo.RemoveAll(p); err != nil {
			return fmt.Errorf("remove workspace: %w", err)
		}
		crash.Point("remove of workspace", suffix)
	}
	return nil
}

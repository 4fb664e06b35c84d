package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/agentmux/agentmux/internal/crash"
)

// ErrOtherBase says that a workspace exists, made at another commit.
var ErrOtherBase = errors.New("workspace was made at another commit")

// Workspace is what MakeWorkspace made or found.
type Workspace struct {
	Path  string
	Base  string // the commit it was made at
	Index string // the index for its snapshots, outside of it
	// Submodules and LFS count the paths of which an agent sees no content.
	Submodules, LFS int
}

// MakeWorkspace ensures a clone at path, on branch work, whose head is commit, with
// its history and the tags that point into it; no remote, no alternates, no content
// of submodules or LFS. A workspace that is complete is left as it is, whatever an
// agent did in it; a half-made one is made anew. ErrOtherBase if it was made at
// another commit: RemoveWorkspace first.
func (h *Host) MakeWorkspace(ctx context.Context, dir, commit string) (Workspace, error) {
	w, err := h.makeWorkspace(ctx, dir, commit, "")
	if err != nil {
		return Workspace{}, fmt.Errorf("make workspace %s: %w", filepath.Base(dir), err)
	}
	return w, nil
}

// makeWorkspace takes content from the git directory of a clone if one is given.
func (h *Host) makeWorkspace(ctx context.Context, dir, commit, clone string) (Workspace, error) {
	if !filepath.IsAbs(dir) {
		return Workspace{}, fmt.Errorf("path %q is not absolute", dir)
	}
	sha, err := h.Resolve(ctx, commit)
	if err != nil {
		return Workspace{}, err
	}
	w := Workspace{Path: dir, Base: sha, Index: WorkspaceIndex(dir)}
	switch base, err := workspaceBase(dir); {
	case err == nil && base != sha:
		return Workspace{}, fmt.Errorf("%w: %s", ErrOtherBase, base)
	case errors.Is(err, fs.ErrNotExist):
		if err := h.buildWorkspace(ctx, dir, sha, clone); err != nil {
			return Workspace{}, err
		}
	case err != nil:
		return Workspace{}, err
	}
	w.Submodules, w.LFS, err = h.absentContent(ctx, dir, sha)
	return w, err
}

// WorkspaceIndex is where the index for snapshots of a workspace is kept.
func WorkspaceIndex(dir string) string { return dir + ".index" }

// workspaceBase reads the commit a complete workspace was made at. The workspace is
// renamed to its place last, so it is complete when it is there.
func workspaceBase(dir string) (string, error) {
	if info, err := os.Lstat(dir); err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is no directory", dir)
	}
	base, err := os.ReadFile(dir + ".base")
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s exists and is no workspace", dir)
	}
	return strings.TrimSpace(string(base)), err
}

// buildWorkspace makes the clone beside its place and renames it when everything that
// belongs to it is written.
func (h *Host) buildWorkspace(ctx context.Context, dir, sha, clone string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	tmp := dir + ".making"
	if err := removeAll(tmp); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	crash.Point("begin workspace", "")
	err := h.checkOut(ctx, tmp, sha)
	if err != nil && ctx.Err() == nil && h.dropHistories(0) {
		// What was kept may be damaged.
		if err = errors.Join(removeAll(tmp), os.Mkdir(tmp, 0o700)); err == nil {
			err = h.checkOut(ctx, tmp, sha)
		}
	}
	if err != nil {
		return err
	}
	if err := keepIndex(tmp, WorkspaceIndex(dir)); err != nil {
		return err
	}
	if clone != "" {
		list, err := h.fill(ctx, tmp, sha, clone)
		if err != nil {
			return err
		}
		if err := writeLarge(dir, list); err != nil {
			return err
		}
	}
	crash.Point("fill workspace", "")
	if err := os.WriteFile(dir+".base", []byte(sha+"\n"), 0o600); err != nil {
		return err
	}
	crash.Point("note base of workspace", "")
	err = os.Rename(tmp, dir)
	crash.Point("rename workspace", "")
	return err
}

// checkOut makes the clone in an empty directory. It is the only git that runs under
// a workspace's configuration, which nobody has seen yet.
func (h *Host) checkOut(ctx context.Context, tmp, sha string) error {
	gitDir := filepath.Join(tmp, ".git")
	if err := emptyRepository(ctx, gitDir); err != nil {
		return err
	}
	from, err := h.copyHistory(ctx, gitDir, sha)
	if err != nil {
		return err
	}
	_, err = call{dir: tmp, gitDir: gitDir, workTree: tmp, args: []string{"checkout", "-q", "work"}}.run(ctx)
	if err == nil && from == "" {
		h.keepHistory(gitDir, sha)
	}
	return err
}

// copyHistory gives an empty repository a commit as branch work, its history and the tags
// that point into it. It does what a fetch does, without the five further processes in
// which a fetch finds out what both sides have: an agent waits for it. It returns the commit
// up to which the history was kept.
func (h *Host) copyHistory(ctx context.Context, gitDir, sha string) (from string, err error) {
	tags, err := h.tagsOf(ctx, sha)
	if err != nil {
		return "", err
	}
	refs, wanted := sha+" refs/heads/work\n", sha+"\n"
	for line := range strings.Lines(tags) {
		id, _, ok := strings.Cut(line, " ")
		if !ok {
			return "", fmt.Errorf("list tags: unexpected line %q", line)
		}
		refs, wanted = refs+strings.TrimSuffix(line, "\n")+"\n", wanted+id+"\n"
	}
	if from = h.takeHistory(ctx, gitDir, sha); from != "" {
		wanted += "^" + from + "\n"
	}
	if from != sha || tags != "" {
		if err := h.pack(ctx, wanted, gitDir); err != nil {
			return "", err
		}
	}
	return from, os.WriteFile(filepath.Join(gitDir, "packed-refs"), []byte(refs), 0o666)
}

// pack copies the wanted objects, as "git rev-list --stdin" takes them, into a repository.
func (h *Host) pack(ctx context.Context, wanted, gitDir string) error {
	pack := h.git("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
	pack.stdin = []byte(wanted)
	// Nothing of a workspace is synced: after a power cut it holds what it holds.
	index := call{gitDir: gitDir, config: []string{"core.fsync=none"}, args: []string{"index-pack", "--stdin"}}
	pack.limit, index.limit = networkLimit, networkLimit // a long history takes as long as its fetch does
	return pipe(ctx, pack, index)
}

// tagsOf lists the tags that point into the history of a commit, one "<id> <ref>" a line.
func (h *Host) tagsOf(ctx context.Context, sha string) (string, error) {
	if h.untagged() {
		return "", nil
	}
	return h.git("for-each-ref", "--merged="+sha, "--format=%(objectname) %(refname)", "refs/tags").text(ctx)
}

// untagged reports that the files of the repository show that it has no tags. Where they do
// not show it, git knows.
func (h *Host) untagged() bool {
	list, err := os.ReadDir(filepath.Join(h.dir, "refs", "tags"))
	if err != nil || len(list) > 0 {
		return false
	}
	packed, err := os.ReadFile(filepath.Join(h.dir, "packed-refs"))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !bytes.Contains(packed, []byte(" refs/tags/"))
}

// emptyRepository makes what git init makes of a work tree without templates, in a
// tenth of its time: an agent waits for it. Where file systems differ in what they make
// of names, git finds out.
func emptyRepository(ctx context.Context, gitDir string) error {
	if runtime.GOOS != "linux" {
		_, err := call{dir: filepath.Dir(gitDir), args: []string{"init", "-q", "--template=", "-b", "none"}}.run(ctx)
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
	err := copyIndexFile(filepath.Join(tmp, ".git", "index"), to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // an empty tree
	}
	return err
}

// copyIndexFile copies an index with its time. Git reads a file again that changed no
// earlier than the index was written; a younger copy would hide a change of the same
// size made right after that.
func copyIndexFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// RemoveWorkspace removes a workspace and what is kept beside it. An absent one is
// success. Directories that an agent made unreadable or unwritable go as well.
func RemoveWorkspace(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Dir(dir) == dir {
		return fmt.Errorf("remove workspace: bad path %q", dir)
	}
	// Renamed first: what stands at its place is never half of a workspace.
	removing := dir + ".removing"
	err := removeAll(removing)
	if err == nil {
		err = os.Rename(dir, removing)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove workspace: %w", err)
	}
	crash.Point("rename old workspace", "")
	beside := []string{".removing", ".making", ".index.lock", ".index", ".lfs", ".base"}
	for _, suffix := range beside {
		p := dir + suffix
		if err := removeAll(p); err != nil {
			return fmt.Errorf("remove workspace: %w", err)
		}
		crash.Point("remove of workspace", suffix)
	}
	return nil
}

// removeAll is os.RemoveAll that also gets through directories without write or
// search permission. It follows no symlink.
func removeAll(p string) error {
	err := os.RemoveAll(p)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(p, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(p)
}

// absentContent counts the submodules without content and the LFS files that are
// still pointers.
func (h *Host) absentContent(ctx context.Context, dir, sha string) (submodules, lfs int, err error) {
	entries, err := h.Entries(ctx, sha)
	if err != nil {
		return 0, 0, err
	}
	there, err := readLarge(dir)
	if err != nil {
		return 0, 0, err
	}
	var paths []string
	attributes := false
	for _, e := range entries {
		if e.Gitlink() {
			if names, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(e.Path))); err != nil || len(names) == 0 {
				submodules++
			}
			continue
		}
		attributes = attributes || path.Base(e.Path) == ".gitattributes"
		if _, ok := there[e.Path]; !ok {
			paths = append(paths, e.Path)
		}
	}
	if !attributes {
		return submodules, 0, nil
	}
	filters, err := h.Filters(ctx, sha, paths)
	for _, filter := range filters {
		if filter == "lfs" {
			lfs++
		}
	}
	return submodules, lfs, err
}

// Filters returns the filter attribute of those paths that have one by the attribute
// files of a tree or commit.
func (h *Host) Filters(ctx context.Context, tree string, paths []string) (map[string]string, error) {
	tmp, remove, err := h.temporary("index")
	if err != nil {
		return nil, err
	}
	defer remove()
	c := h.git("read-tree", tree)
	c.index = filepath.Join(tmp, "index")
	if _, err := c.run(ctx); err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	c.args = []string{"check-attr", "-z", "--cached", "--stdin", "filter"}
	c.stdin = joined(paths)
	out, err := c.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	recs := records(out)
	filters := map[string]string{}
	for i := 0; i+2 < len(recs); i += 3 {
		if v := recs[i+2]; v != "unspecified" && v != "unset" {
			filters[recs[i]] = v
		}
	}
	return filters, nil
}

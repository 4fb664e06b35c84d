package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// maxPointer bounds a file that may be an LFS pointer.
const maxPointer = 1024

var pointer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n(?:.*\n)*?size ([0-9]+)\n`)
})

// large is a file of a workspace whose LFS content was put in place of its pointer.
type large struct {
	path, sum string
	size      int64
}

// MakeLocal is Make that takes the content of submodules and LFS files from a person's
// clone, as far as it is there. Submodules come without .git and read-only. The counts say
// what is still absent.
func MakeLocal(ctx context.Context, store *gitrepo.Store, dir, commit, clone string) (w Workspace, err error) {
	m := maker{Store: store, dir: dir}
	if m.clone, err = store.CloneDir(ctx, clone); err == nil {
		w, err = m.ensure(ctx, commit)
	}
	if err != nil {
		return Workspace{}, fmt.Errorf("make workspace %s: %w", filepath.Base(dir), err)
	}
	return w, nil
}

// fill puts the content that the clone's git directory holds into a new workspace.
func (m *maker) fill(ctx context.Context, tmp string) ([]large, error) {
	if err := m.fillSubmodules(ctx, tmp); err != nil {
		return nil, fmt.Errorf("copy submodules: %w", err)
	}
	list, err := m.fillLarge(ctx, tmp)
	if err != nil {
		return nil, fmt.Errorf("copy LFS files: %w", err)
	}
	return list, nil
}

func (m *maker) fillSubmodules(ctx context.Context, tmp string) error {
	modules, _, err := m.submodules(ctx)
	for _, s := range modules {
		if err := m.exportTree(ctx, s, filepath.Join(tmp, filepath.FromSlash(s.path))); err != nil {
			return err
		}
	}
	return err
}

// submodule is one of which the clone has a store, which may lack the commit.
type submodule struct{ path, commit, objects string }

// submodules returns those of which the clone has a store, and how many there are in all.
func (m *maker) submodules(ctx context.Context) (stored []submodule, all int, err error) {
	entries, err := m.Entries(ctx, m.sha)
	if err != nil || !slices.ContainsFunc(entries, gitrepo.Entry.Gitlink) {
		return nil, 0, err
	}
	names, err := m.submoduleNames(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if !e.Gitlink() {
			continue
		}
		all++
		name := names[e.Path]
		if name == "" || !filepath.IsLocal(name) {
			continue
		}
		objects := filepath.Join(m.clone, "modules", filepath.FromSlash(name), "objects")
		if info, err := os.Stat(objects); err == nil && info.IsDir() {
			stored = append(stored, submodule{e.Path, e.ID, objects})
		}
	}
	return stored, all, nil
}

// in returns a call of git that finds the objects of a submodule, too. The repository that they are of, its
// configuration with it, takes no part.
func (m *maker) in(s submodule, args ...string) git.Call {
	return git.Call{GitDir: m.Dir(), Guard: m.Guard, Dir: m.Dir(), Args: args, Env: []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + listed(s.objects)}}
}

// holds reports whether the store of a submodule has its commit.
func (m *maker) holds(ctx context.Context, s submodule) (bool, error) {
	if _, err := m.in(s, "cat-file", "-e", s.commit+"^{tree}").Run(ctx); err != nil {
		return false, ctx.Err()
	}
	return true, nil
}

// submoduleNames reads the names by path from the .gitmodules of a commit.
func (m *maker) submoduleNames(ctx context.Context) (map[string]string, error) {
	names := map[string]string{}
	if _, err := m.File(ctx, m.sha, ".gitmodules", maxRuleFile); errors.Is(err, gitrepo.ErrNoFile) {
		return names, nil
	}
	out, err := git.In(m, "config", "--blob", m.sha+":.gitmodules", "-z", "--get-regexp", `^submodule\..*\.path$`).Run(ctx)
	if git.ExitCode(err) > 0 {
		return names, nil // none, or a broken file
	}
	for _, rec := range git.Records(out) {
		key, p, _ := strings.Cut(rec, "\n")
		names[p] = strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
	}
	return names, err
}

// exportTree writes the files of a submodule to dir. A commit that is not there leaves dir empty.
func (m *maker) exportTree(ctx context.Context, s submodule, dir string) error {
	scratch, remove, err := m.Temporary("index")
	if err != nil {
		return err
	}
	defer remove()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if held, err := m.holds(ctx, s); err != nil || !held {
		return err
	}
	for _, args := range [][]string{{"read-tree", s.commit}, {"checkout-index", "-a", "-f", "-q"}} {
		c := m.in(s, args...)
		c.WorkTree, c.Index, c.Dir = dir, filepath.Join(scratch, "index"), dir
		if _, err := c.Run(ctx); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(p, info.Mode().Perm()&^0o222)
	})
}

// listed writes a path as git reads it in a list separated by ":".
func listed(p string) string {
	if strings.ContainsAny(p, `":`) {
		return strconv.Quote(p)
	}
	return p
}

// fillLarge replaces pointers by the content of the clone's LFS store.
func (m *maker) fillLarge(ctx context.Context, tmp string) ([]large, error) {
	store := filepath.Join(m.clone, "lfs", "objects")
	if _, err := os.Stat(store); err != nil {
		return nil, nil
	}
	entries, err := m.filtered(ctx)
	if err != nil {
		return nil, err
	}
	var list []large
	for _, e := range entries {
		l, ok, err := fillOne(filepath.Join(tmp, filepath.FromSlash(e.Path)), store)
		if err != nil {
			return nil, err
		}
		if ok {
			l.path = e.Path
			list = append(list, l)
		}
	}
	return list, nil
}

// filtered returns the files of the commit that LFS has.
func (m *maker) filtered(ctx context.Context) ([]gitrepo.Entry, error) {
	entries, err := m.Entries(ctx, m.sha)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if e.Type == "blob" && e.Mode != gitrepo.ModeSymlink {
			paths = append(paths, e.Path)
		}
	}
	filters, err := m.Filters(ctx, m.sha, paths)
	return slices.DeleteFunc(slices.Clone(entries), func(e gitrepo.Entry) bool { return filters[e.Path] != "lfs" }), err
}

// pointed reads a pointer.
func pointed(text []byte) (l large, ok bool) {
	m := pointer().FindSubmatch(text)
	if m == nil {
		return l, false
	}
	size, err := strconv.ParseInt(string(m[2]), 10, 64)
	return large{sum: string(m[1]), size: size}, err == nil
}

// in is where an LFS store has the content.
func (l large) in(store string) string { return filepath.Join(store, l.sum[:2], l.sum[2:4], l.sum) }

func fillOne(file, store string) (l large, ok bool, err error) {
	info, err := os.Lstat(file)
	if err != nil || info.Size() > maxPointer {
		return l, false, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return l, false, err
	}
	if l, ok = pointed(text); !ok {
		return l, false, nil
	}
	content, err := os.Open(l.in(store))
	if errors.Is(err, fs.ErrNotExist) {
		return l, false, nil
	}
	if err != nil {
		return l, false, err
	}
	defer content.Close()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return l, false, err
	}
	_, err = io.Copy(out, content)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return l, err == nil, err
}

// The record beside a workspace has "sum size path NUL" per file.
func writeLarge(dir string, list []large) error {
	if len(list) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, l := range list {
		fmt.Fprintf(&b, "%s %d %s\x00", l.sum, l.size, l.path)
	}
	return os.WriteFile(dir+".lfs", b.Bytes(), 0o600)
}

func readLarge(dir string) (map[string]large, error) {
	data, err := os.ReadFile(dir + ".lfs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := map[string]large{}
	for _, rec := range git.Records(data) {
		f := strings.SplitN(rec, " ", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("read %s.lfs: unexpected record %q", dir, rec)
		}
		size, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read %s.lfs: %w", dir, err)
		}
		list[f[2]] = large{path: f[2], sum: f[0], size: size}
	}
	return list, nil
}

// unchanged reports whether a walked file still is the content that was put in place
// of its pointer.
func (w *walker) unchanged(c candidate) (bool, error) {
	l, ok := w.large[c.path]
	if !ok || c.kind() != unix.S_IFREG || c.size != l.size {
		return false, nil
	}
	dir, err := w.open(path.Dir(c.path))
	if err != nil {
		return false, ignoreGone(err)
	}
	fd, err := unix.Openat(dir, path.Base(c.path), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	_ = unix.Close(dir)
	if err != nil {
		return false, ignoreGone(err)
	}
	file := os.NewFile(uintptr(fd), c.path)
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, l.size+1)); err != nil {
		return false, err
	}
	return hex.EncodeToString(sum.Sum(nil)) == l.sum, nil
}

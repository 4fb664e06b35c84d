package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxRuleFile bounds .gitignore and .gitattributes files, which git reads itself.
const maxRuleFile = 1 << 20

// file is a walked path that goes into a snapshot: a regular file or a symlink.
type file struct {
	path  string
	size  int64
	links uint64
}

// walker lists what of a workspace belongs to a snapshot. It opens directories one
// name at a time without following symlinks, so nothing outside the root is reached.
type walker struct {
	root    int
	base    map[string]string // path -> mode
	parents map[string]bool   // directories that hold a path of the base
	masked  func(string) bool
	ignored func(ctx context.Context, paths []string) (map[string]bool, error)
	hook    func(point, path string)
	scratch *scratch         // set for a workspace that is still written
	large   map[string]large // LFS content put in place of pointers
	asBase  []string         // paths that count as in the base, whatever they show

	files    []file
	refusals []Refusal
}

// directory is one that is still to be read. In an ignored one only paths of the base
// count.
type directory struct {
	path    string
	ignored bool
}

func newWalker(root string, base []Entry, masked []string) (*walker, error) {
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, err)
	}
	w := &walker{root: fd, base: map[string]string{}, parents: map[string]bool{}, masked: covers(masked)}
	for _, e := range base {
		w.base[e.Path] = e.Mode
		for dir := path.Dir(e.Path); dir != "." && !w.parents[dir]; dir = path.Dir(dir) {
			w.parents[dir] = true
		}
	}
	return w, nil
}

func (w *walker) close() { _ = unix.Close(w.root) }

// covers reports whether a path is one of list or below one of them.
func covers(list []string) func(string) bool {
	set := map[string]bool{}
	for _, p := range list {
		set[strings.Trim(p, "/")] = true
	}
	return func(p string) bool {
		for ; p != "." && p != "/"; p = path.Dir(p) {
			if set[p] {
				return true
			}
		}
		return false
	}
}

// walk goes down level by level, so that git is asked once per level what is ignored,
// and only after the .gitignore files it will read have been looked at.
func (w *walker) walk(ctx context.Context) error {
	level := []directory{{}}
	for len(level) > 0 {
		var candidates []candidate
		for _, dir := range level {
			found, err := w.read(dir)
			if err != nil {
				return fmt.Errorf("walk %q: %w", dir.path, err)
			}
			candidates = append(candidates, found...)
		}
		if len(w.refusals) > 0 && w.unsafeRules() {
			return nil
		}
		next, err := w.choose(ctx, candidates)
		if err != nil {
			return err
		}
		level = next
	}
	slices.SortFunc(w.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return nil
}

// candidate is a name that was read and may belong to the snapshot.
type candidate struct {
	path    string
	stat    unix.Stat_t
	ignored bool // its directory is
}

func (c candidate) kind() uint32 { return uint32(c.stat.Mode) & unix.S_IFMT }

// open opens a directory below the root, every component without following symlinks.
func (w *walker) open(dir string) (int, error) {
	fd, err := unix.Dup(w.root)
	if err != nil || dir == "" || dir == "." {
		return fd, err
	}
	for name := range strings.SplitSeq(dir, "/") {
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		_ = unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

func (w *walker) read(dir directory) ([]candidate, error) {
	if w.hook != nil {
		w.hook("read", dir.path)
	}
	fd, err := w.open(dir.path)
	if err != nil {
		return nil, w.unreadable(dir.path, err)
	}
	handle := os.NewFile(uintptr(fd), dir.path)
	defer handle.Close()
	names, err := names(handle)
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, name := range names {
		p := path.Join(dir.path, name)
		if w.skipped(dir, p, name) {
			continue
		}
		c := candidate{path: p, ignored: dir.ignored}
		if err := unix.Fstatat(fd, name, &c.stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			return nil, err
		}
		w.checkRules(name, c)
		if err := w.prepare(fd, name, c); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

// unreadable turns an error about a directory into a refusal. In a workspace that is
// still written it may just have gone.
func (w *walker) unreadable(p string, err error) error {
	gone := ignoreGone(err) == nil
	switch {
	case p == "":
		return err
	case gone && w.scratch != nil:
		return nil
	case gone:
		w.refuse(p, "changed while it was read")
		return nil
	case errors.Is(err, unix.EACCES):
		w.refuse(p, reasonUnreadable)
		return nil
	}
	return err
}

// prepare gives the scratch copy what git needs to tell which paths are ignored.
func (w *walker) prepare(fd int, name string, c candidate) error {
	switch {
	case w.scratch == nil:
		return nil
	case c.kind() == unix.S_IFDIR:
		return w.scratch.directory(c.path)
	case ruleFile(name) && c.kind() == unix.S_IFREG && c.stat.Size <= maxRuleFile:
		_, _, err := w.scratch.file(fd, name, c.path)
		return err
	}
	return nil
}

func names(dir *os.File) ([]string, error) {
	list, err := dir.Readdirnames(-1)
	slices.Sort(list)
	return list, err
}

// skipped sorts out what is no part of a snapshot, and refuses what looks like a git
// directory: git would start inside it.
func (w *walker) skipped(dir directory, p, name string) bool {
	switch {
	case dir.path == "" && name == ".git":
		return true
	case w.masked(p), w.base[p] == modeGitlink:
		// What stands at a submodule's place is no part of a snapshot.
		return true
	case dir.ignored && !w.known(p) && !ruleFile(name):
		return true
	case !dir.ignored && gitName(name):
		w.refuse(p, "looks like a git directory")
		return true
	}
	return false
}

// known reports whether p is a path of the base or leads to one.
func (w *walker) known(p string) bool { return w.base[p] != "" || w.parents[p] }

func ruleFile(name string) bool { return name == ".gitignore" || name == ".gitattributes" }

// checkRules refuses rule files that would hang git or cost it much. A symlink is
// never followed by git there; it is let through where the base has one.
func (w *walker) checkRules(name string, c candidate) {
	if !ruleFile(name) {
		return
	}
	switch {
	case c.kind() == unix.S_IFLNK && w.base[c.path] == modeSymlink:
	case c.kind() != unix.S_IFREG:
		w.refuse(c.path, reasonRuleType)
	case c.stat.Size > maxRuleFile:
		w.refuse(c.path, reasonRuleSize)
	}
}

const (
	reasonUnreadable = "cannot be read"

	reasonRuleType = "rule file is no regular file"
	reasonRuleSize = "rule file is larger than 1 MiB"
)

// unsafeRules reports a refusal after which git must not be asked anything.
func (w *walker) unsafeRules() bool {
	for _, r := range w.refusals {
		if r.Reason == reasonRuleType || r.Reason == reasonRuleSize {
			return true
		}
	}
	return false
}

// choose keeps the files of the snapshot and returns the directories of the next
// level.
func (w *walker) choose(ctx context.Context, candidates []candidate) ([]directory, error) {
	var ask []string
	for _, c := range candidates {
		if !c.ignored && (w.base[c.path] == "" || c.kind() == unix.S_IFDIR) {
			ask = append(ask, c.path)
		}
	}
	ignored, err := w.ignored(ctx, ask)
	if err != nil {
		return nil, err
	}
	var next []directory
	for _, c := range candidates {
		out := c.ignored || ignored[c.path]
		if c.kind() == unix.S_IFDIR {
			if !out || w.parents[c.path] {
				next = append(next, directory{path: c.path, ignored: out})
			}
			continue
		}
		if out && w.base[c.path] == "" {
			continue
		}
		same, err := w.unchanged(c)
		switch {
		case err != nil:
			return nil, err
		case same:
			w.asBase = append(w.asBase, c.path)
			continue
		}
		if err := w.keep(c); err != nil {
			return nil, err
		}
	}
	return next, nil
}

func (w *walker) keep(c candidate) error {
	if w.scratch != nil && (c.kind() == unix.S_IFREG || c.kind() == unix.S_IFLNK) {
		dir, err := w.open(path.Dir(c.path))
		if err != nil {
			return ignoreGone(err)
		}
		now, ok, err := w.scratch.file(dir, path.Base(c.path), c.path)
		_ = unix.Close(dir)
		if err != nil || !ok {
			return err
		}
		c.stat = now
	}
	switch {
	case c.kind() != unix.S_IFREG && c.kind() != unix.S_IFLNK:
		w.refuse(c.path, "is a device, FIFO or socket")
	case c.stat.Mode&0o444 == 0:
		w.refuse(c.path, reasonUnreadable)
	default:
		w.files = append(w.files, file{path: c.path, size: c.stat.Size, links: uint64(c.stat.Nlink)})
	}
	return nil
}

func (w *walker) refuse(p, reason string) {
	w.refusals = append(w.refusals, Refusal{Path: p, Reason: reason})
}

// gitName reports whether some file system takes name for .git: by case, by the short
// name and the trailing characters of NTFS, by the characters that HFS+ ignores.
func gitName(name string) bool {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	plain, _, _ = strings.Cut(plain, ":")
	plain, _, _ = strings.Cut(plain, `\`)
	plain = strings.ToLower(strings.TrimRight(plain, ". "))
	return plain == ".git" || plain == "git~1"
}

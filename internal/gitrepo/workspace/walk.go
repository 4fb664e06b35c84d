package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// maxRuleFile bounds .gitignore and .gitattributes files, which git reads itself.
const maxRuleFile = 1 << 20

// file is a walked path that goes into a snapshot: a regular file or a symlink.
type file struct {
	path  string
	at    int // its place in the base, -1 for a path that is not in it
	size  int64
	links uint64
	racy  bool // it equals its entry in the kept index, which may be by chance
}

// walker lists what of a workspace belongs to a snapshot. It opens directories one
// name at a time without following symlinks, so nothing outside the root is reached.
type walker struct {
	root    int
	base    *paths
	masked  func(string) bool
	ignored func(ctx context.Context, asked []question) (map[string]bool, error)
	hook    func(point, path string)
	live    bool             // the workspace is still written
	kept    *kept            // tells which files are as in the base; nil if nothing does
	large   map[string]large // LFS content put in place of pointers
	asBase  []string         // paths that count as in the base, whatever they show

	files    []file
	present  []bool          // by place in the base: the path is walked, whether it is in files or kept tells that it did not change
	rules    map[string]bool // regular rule files that git may read
	gitNames []candidate     // names like that of a git directory, in directories that may be ignored
	refusals []Refusal
}

// directory is one that is still to be read.
type directory struct {
	path string
	// unsure says that it leads to a path of the base and may be ignored: then only paths
	// of the base count in it.
	unsure bool
}

func newWalker(root string, base *paths, masked []string) (*walker, error) {
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, err)
	}
	w := &walker{root: fd, base: base, masked: gitrepo.Covers(masked), present: make([]bool, len(base.entries)), rules: map[string]bool{}}
	if len(masked) == 0 {
		w.masked = func(string) bool { return false }
	}
	return w, nil
}

func (w *walker) close() { _ = unix.Close(w.root) }

// walk goes through the directories that lead to paths of the base first: what counts there
// is known but for the names that are not in the base. Then it goes down the others level by
// level. So git is asked once what is ignored, and once more per level of new directories;
// each time only after the .gitignore files that it will read have been looked at.
func (w *walker) walk(ctx context.Context) error {
	level := []directory{{unsure: true}}
	var found, unknown []candidate
	var err error
	for len(level) > 0 {
		found, err = w.readAll(level, found[:0])
		if err != nil || w.unsafeRules() {
			return err
		}
		level = level[:0:0]
		for _, c := range found {
			switch {
			case c.kind() == unix.S_IFDIR && w.base.parents[c.path]:
				level = append(level, directory{path: c.path, unsure: true})
			case c.kind() == unix.S_IFDIR || c.at < 0:
				unknown = append(unknown, c)
			default:
				if err := w.keep(c); err != nil {
					return err
				}
			}
		}
	}
	for {
		next, err := w.choose(ctx, unknown)
		if err != nil || len(next) == 0 {
			return err
		}
		if unknown, err = w.readAll(next, nil); err != nil || w.unsafeRules() {
			return err
		}
	}
}

// readAll appends what belongs to directories to found.
func (w *walker) readAll(level []directory, found []candidate) ([]candidate, error) {
	for i, l := range w.list(level) {
		dir := level[i]
		if l.closed != nil {
			l.err = w.unreadable(dir.path, l.closed)
		}
		if l.err != nil {
			return nil, fmt.Errorf("walk %q: %w", dir.path, l.err)
		}
		for _, c := range l.found {
			if name := c.path[strings.LastIndexByte(c.path, '/')+1:]; !w.skipped(dir, c, name) {
				w.checkRules(name, c)
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// candidate is a name that was read and may belong to the snapshot.
type candidate struct {
	path       string
	at         int    // as in file
	mode       uint32 // as lstat(2) says
	size       int64
	links      uint64
	same, racy bool // as kept says
}

func (c candidate) kind() uint32 { return c.mode & unix.S_IFMT }

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

// unreadable turns an error about a directory into a refusal. In a workspace that is
// still written it may just have gone.
func (w *walker) unreadable(p string, err error) error {
	absent := ignoreGone(err) == nil
	switch {
	case p == "":
		return err
	case absent && w.live:
		return nil
	case absent:
		w.refuse(p, reasonChanging)
		return nil
	case errors.Is(err, unix.EACCES):
		w.refuse(p, reasonUnreadable)
		return nil
	}
	return err
}

// skipped reports what is not part of a snapshot, and refuses what looks like a git
// directory: git would start inside it.
func (w *walker) skipped(dir directory, c candidate, name string) bool {
	switch {
	case dir.path == "" && name == ".git":
		return true
	case w.masked(c.path), c.at >= 0 && w.base.entries[c.at].Mode == modeGitlink:
		// What is at a submodule's place is not part of a snapshot.
		return true
	case !gitName(name):
		return false
	case dir.unsure && dir.path != "":
		w.gitNames = append(w.gitNames, c)
	default:
		w.refuse(c.path, reasonGitName)
	}
	return true
}

func ruleFile(name string) bool { return name == ".gitignore" || name == ".gitattributes" }

// checkRules refuses rule files that would hang git or cost it much. A symlink is
// never followed by git there; it is let through where the base has one.
func (w *walker) checkRules(name string, c candidate) {
	if !ruleFile(name) {
		return
	}
	switch {
	case c.kind() == unix.S_IFLNK && c.at >= 0 && w.base.entries[c.at].Mode == modeSymlink:
	case c.kind() != unix.S_IFREG:
		w.refuse(c.path, reasonRuleType)
	case c.size > maxRuleFile:
		w.refuse(c.path, reasonRuleSize)
	default:
		w.rules[c.path] = true
	}
}

const (
	reasonGitName    = "looks like a git directory"
	reasonUnreadable = "cannot be read"
	reasonType       = "is a device, FIFO or socket"
	reasonChanging   = "changed while it was read"
	reasonNotTaken   = "is not taken by git"
	reasonLinked     = "has a further hard link"

	reasonRuleType = "rule file is not a regular file"
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

// choose keeps the new files that are not ignored and returns the new directories that are
// not.
func (w *walker) choose(ctx context.Context, unknown []candidate) ([]directory, error) {
	ask := make([]question, 0, len(unknown))
	for _, c := range unknown {
		ask = append(ask, question{c.path, c.kind() == unix.S_IFDIR})
	}
	for _, c := range w.gitNames {
		ask = append(ask, question{parent(c.path), true})
	}
	ignored, err := w.ignored(ctx, ask)
	if err != nil {
		return nil, err
	}
	for _, c := range w.gitNames {
		if !ignored[parent(c.path)] {
			w.refuse(c.path, reasonGitName)
		}
	}
	w.gitNames = nil
	var next []directory
	for _, c := range unknown {
		switch {
		case ignored[c.path]:
		case c.kind() == unix.S_IFDIR:
			next = append(next, directory{path: c.path})
		default:
			if err := w.keep(c); err != nil {
				return nil, err
			}
		}
	}
	return next, nil
}

// keep takes a walked file for the snapshot.
func (w *walker) keep(c candidate) error {
	same, err := w.unchanged(c)
	switch {
	case err != nil:
		return err
	case same:
		w.asBase = append(w.asBase, c.path)
		return nil
	case c.kind() != unix.S_IFREG && c.kind() != unix.S_IFLNK:
		w.refuse(c.path, reasonType)
		return nil
	case c.mode&0o444 == 0:
		w.refuse(c.path, reasonUnreadable)
		return nil
	}
	if c.at >= 0 {
		w.present[c.at] = true
	}
	if !c.same || c.racy {
		w.files = append(w.files, file{path: c.path, at: c.at, size: c.size, links: c.links, racy: c.racy})
	}
	return nil
}

func (w *walker) refuse(p, reason string) {
	w.refusals = append(w.refusals, Refusal{Path: p, Reason: reason})
}

// gitName reports whether some file system takes name for .git: by case, by the short
// name and the trailing characters of NTFS, by the characters that HFS+ ignores.
func gitName(name string) bool {
	if first := name[0]; first < utf8.RuneSelf && first != '.' && first != 'g' && first != 'G' {
		return false
	}
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

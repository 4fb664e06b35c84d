package workspace

import (
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

const (
	// readTries is how often a file is read that changes meanwhile.
	readTries = 3
	// maxInMemory is the size up to which a file is held in memory. A larger one goes to a
	// scratch file.
	maxInMemory = 1 << 20
)

// content is what was read of a file or symlink while nothing changed it.
type content struct {
	mode  uint32
	size  int64
	links uint64
	data  []byte // of a symlink: its target; nil for a large file
}

// reader reads files of a workspace that is still written. It opens them as the walk opens
// directories.
type reader struct {
	walker *walker
	large  scratch // where large files go
	// growth is the size beyond which a file that is larger than it was in the walk is not
	// read: it was not judged. 0: without limit.
	growth int64
}

// The ends of reading a file. A file of another type now is a refusal.
var (
	errGone     = errors.New("gone")
	errChanging = errors.New(reasonChanging)
	errClosed   = errors.New(reasonUnreadable)
	errType     = errors.New(reasonType)
)

// read reads a file between two equal states of it. The error is errChanging after three
// tries, errGone if it went away, errClosed or errType.
func (r *reader) read(f file) (c content, err error) {
	err = errChanging
	for try := 0; try < readTries && errors.Is(err, errChanging); try++ {
		c, err = r.try(f)
	}
	return c, err
}

func (r *reader) try(f file) (content, error) {
	dir, err := r.walker.open(parent(f.path))
	if err != nil {
		return content{}, unread(err)
	}
	defer func() { _ = unix.Close(dir) }()
	name := path.Base(f.path)
	var now unix.Stat_t
	if err := unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return content{}, unread(err)
	}
	switch uint32(now.Mode) & unix.S_IFMT {
	case unix.S_IFLNK:
		return r.link(dir, name, now)
	case unix.S_IFREG:
		return r.regular(dir, f)
	case unix.S_IFDIR:
		return content{}, errChanging // what is in it was not walked
	}
	return content{}, errType
}

func (r *reader) link(dir int, name string, before unix.Stat_t) (content, error) {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, target)
	if errors.Is(err, unix.EINVAL) {
		return content{}, errChanging // no symlink any more
	}
	if err != nil {
		return content{}, unread(err)
	}
	var after unix.Stat_t
	if err := unix.Fstatat(dir, name, &after, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return content{}, unread(err)
	}
	if !equalState(before, after) {
		return content{}, errChanging
	}
	return content{mode: modeSymlink, size: int64(n), links: uint64(after.Nlink), data: target[:n]}, nil
}

func (r *reader) regular(dir int, f file) (content, error) {
	r.hook("copy", f.path)
	fd, err := unix.Openat(dir, path.Base(f.path), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return content{}, unread(err)
	}
	in := os.NewFile(uintptr(fd), f.path)
	defer in.Close()
	var before, after unix.Stat_t
	if err := unix.Fstat(fd, &before); err != nil {
		return content{}, err
	}
	switch {
	case mode(&before) == 0:
		return content{}, errChanging
	case before.Mode&0o444 == 0:
		return content{}, errClosed
	case r.growth > 0 && before.Size > r.growth && before.Size > f.size:
		return content{}, errChanging
	}
	c := content{mode: mode(&before), size: before.Size, links: uint64(before.Nlink)}
	if err := r.bytes(in, f.path, &c); err != nil {
		return content{}, err
	}
	r.hook("copied", f.path)
	if err := unix.Fstat(fd, &after); err != nil {
		return content{}, err
	}
	if !equalState(before, after) {
		if c.data == nil {
			_ = os.Remove(r.large.path(f.path))
		}
		return content{}, errChanging
	}
	return c, nil
}

// bytes takes as many bytes as the file had when it was opened.
func (r *reader) bytes(in *os.File, p string, c *content) error {
	if c.size > maxInMemory {
		return r.large.file(p, in, c.size, c.mode)
	}
	c.data = make([]byte, c.size)
	_, err := io.ReadFull(in, c.data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errChanging
	}
	return err
}

func (r *reader) hook(point, p string) {
	if r.walker.hook != nil {
		r.walker.hook(point, p)
	}
}

// equalState reports whether nothing of a file has changed that its state tells.
func equalState(a, b unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Mode == b.Mode && a.Nlink == b.Nlink && a.Size == b.Size &&
		a.Mtim == b.Mtim && a.Ctim == b.Ctim
}

// unread says what an error of opening a file means.
func unread(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return errGone
	case errors.Is(err, unix.EACCES):
		return errClosed
	case ignoreGone(err) == nil:
		return errChanging
	}
	return err
}

package gitrepo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// scratch receives a copy of what is walked, so that a workspace whose agent still
// runs can be read once, by descriptor, and git only sees the copy. Nobody else
// writes below its root. A nil scratch copies nothing.
type scratch struct {
	root string
	hook func(point, path string) // tests only: between the look at a file and its opening
}

// directory makes the counterpart of a directory; git asks the file system whether a
// path is one.
func (s *scratch) directory(p string) error {
	if s == nil || p == "" {
		return nil
	}
	return os.MkdirAll(filepath.Join(s.root, filepath.FromSlash(p)), 0o700)
}

// file copies name of the directory fd to p. It reports the state of what it copied;
// ok is false if the name is gone or has become something else.
func (s *scratch) file(fd int, name, p string) (now unix.Stat_t, ok bool, err error) {
	if err := unix.Fstatat(fd, name, &now, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return now, false, ignoreGone(err)
	}
	if err := s.directory(path.Dir(p)); err != nil {
		return now, false, err
	}
	to := filepath.Join(s.root, filepath.FromSlash(p))
	if uint32(now.Mode)&unix.S_IFMT == unix.S_IFLNK {
		ok, err := copyLink(fd, name, to)
		return now, ok, err
	}
	if s.hook != nil {
		s.hook("copy", p)
	}
	from, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return now, false, ignoreGone(err)
	}
	in := os.NewFile(uintptr(from), p)
	defer in.Close()
	if err := unix.Fstat(from, &now); err != nil {
		return now, false, err
	}
	if uint32(now.Mode)&unix.S_IFMT != unix.S_IFREG {
		return now, false, nil
	}
	return now, true, copyFile(in, to, now)
}

func copyLink(fd int, name, to string) (bool, error) {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, name, target)
	if err != nil {
		return false, ignoreGone(err)
	}
	return true, os.Symlink(string(target[:n]), to)
}

// copyFile copies as many bytes as the file had when it was opened.
func copyFile(in io.Reader, to string, stat unix.Stat_t) error {
	mode := os.FileMode(0o600)
	if stat.Mode&0o100 != 0 {
		mode = 0o700
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, stat.Size))
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", to, err)
	}
	return nil
}

// ignoreGone drops the errors that say that a name went away or changed its type.
func ignoreGone(err error) error {
	for _, e := range []unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENXIO} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

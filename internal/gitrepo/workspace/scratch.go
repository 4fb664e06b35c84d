package workspace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// scratch is a work tree for git beside a workspace whose agent still runs. It holds only
// what this process has put there, by descriptor. Nothing else writes below it.
type scratch string

func (s scratch) path(p string) string { return filepath.Join(string(s), filepath.FromSlash(p)) }

// directory makes the counterpart of a directory; git asks the file system whether a
// path is one.
func (s scratch) directory(p string) error { return os.MkdirAll(s.path(p), 0o700) }

// file writes a file of that mode, and of no more than size bytes. One that is there stays as
// it is.
func (s scratch) file(p string, from io.Reader, size int64, mode uint32) error {
	if err := s.directory(parent(p)); err != nil {
		return err
	}
	perm := os.FileMode(0o600)
	if mode == modeExecutable {
		perm = 0o700
	}
	out, err := os.OpenFile(s.path(p), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(from, size))
	return errors.Join(err, out.Close())
}

// content writes what was read of a file or symlink.
func (s scratch) content(p string, c content) error {
	if c.mode != modeSymlink {
		return s.file(p, bytes.NewReader(c.data), int64(len(c.data)), c.mode)
	}
	err := s.directory(parent(p))
	if err == nil {
		err = os.Symlink(string(c.data), s.path(p))
	}
	return err
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

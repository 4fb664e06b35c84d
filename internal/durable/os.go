package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// disk is every call of this package that changes a file system. A test puts a
// double below it that forgets what was not synced.
type disk interface {
	open(path string, how opening) (file, error)
	mkdir(path string) error
	rename(from, to string) error
	link(from, to string) error
	remove(path string) error
}

// file is an open file of a disk.
type file interface {
	io.ReaderAt
	io.WriteCloser
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	sync() error
	flock(how int) error
}

// opening says what a file is opened for.
type opening int

const (
	readOnly  opening = iota // the file exists
	readWrite                // the file exists
	appending                // made if missing, also readable
	lockable                 // made if missing, written from its start
	newFile                  // must not exist
	directory
)

// flags of each opening. O_NONBLOCK keeps the opening of a FIFO from waiting.
func (how opening) flags() int {
	const always = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_CLOEXEC
	switch how {
	case readWrite:
		return always | os.O_RDWR
	case appending:
		return always | os.O_RDWR | os.O_CREATE | os.O_APPEND
	case lockable:
		return always | os.O_RDWR | os.O_CREATE
	case newFile:
		return always | os.O_WRONLY | os.O_CREATE | os.O_EXCL
	case directory:
		// The last part may be a symbolic link: a person may keep the project
		// elsewhere. Only names in it are synced.
		return os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_CLOEXEC
	default:
		return always | os.O_RDONLY
	}
}

// system is the disk of this machine.
type system struct{}

func (system) open(path string, how opening) (file, error) {
	f, err := os.OpenFile(path, how.flags(), 0o600)
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

func (system) mkdir(path string) error      { return os.Mkdir(path, 0o700) }
func (system) rename(from, to string) error { return syscall.Rename(from, to) }
func (system) link(from, to string) error   { return os.Link(from, to) }
func (system) remove(path string) error     { return os.Remove(path) }

type systemFile struct{ *os.File }

func (f systemFile) sync() error { return f.Sync() }

// flock changes the lock on the file and does not wait: the error is
// syscall.EWOULDBLOCK while another open file holds it. The lock belongs to the
// open file, so it also holds between two openings in one process.
func (f systemFile) flock(how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	err = raw.Control(func(fd uintptr) {
		for {
			lockErr = syscall.Flock(int(fd), how|syscall.LOCK_NB)
			if !errors.Is(lockErr, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, lockErr)
}

// lookup reads what stands at path without following it.
func lookup(path string) (fs.FileInfo, error) { return os.Lstat(path) }

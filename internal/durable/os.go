package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Calls is every call of this package that changes a file system. A test puts a
// double below it that forgets what was not synced.
type Calls interface {
	Open(path string, how Opening) (File, error)
	Mkdir(path string) error
	Rename(from, to string) error
	Link(from, to string) error
	Remove(path string) error
}

// File is an open file. Flock does not wait: while another opening holds the lock
// it fails with syscall.EWOULDBLOCK.
type File interface {
	io.ReaderAt
	io.WriteCloser
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Flock(how int) error
}

// Opening says what a file is opened for.
type Opening int

// What files are opened for. The last part of a name is not followed, but of a
// directory it is.
const (
	ReadOnly  Opening = iota // the file exists
	ReadWrite                // the file exists
	Appending                // made if missing, also readable
	Lockable                 // made if missing, written from its start
	NewFile                  // must not exist
	Directory                // to sync the names in it
)

// flags of each opening. O_NONBLOCK keeps the opening of a FIFO from waiting.
func (how Opening) flags() int {
	const always = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_CLOEXEC
	switch how {
	case ReadWrite:
		return always | os.O_RDWR
	case Appending:
		return always | os.O_RDWR | os.O_CREATE | os.O_APPEND
	case Lockable:
		return always | os.O_RDWR | os.O_CREATE
	case NewFile:
		return always | os.O_WRONLY | os.O_CREATE | os.O_EXCL
	case Directory:
		// The last part may be a symbolic link: a person may keep the project
		// elsewhere. Only names in it are synced.
		return os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_CLOEXEC
	default:
		return always | os.O_RDONLY
	}
}

// System makes the calls to this machine.
type System struct{}

// Open opens a file without waiting for another process.
func (System) Open(path string, how Opening) (File, error) {
	f, err := os.OpenFile(path, how.flags(), 0o600)
	if err != nil {
		return nil, err
	}
	return systemFile{f}, nil
}

// Mkdir makes a directory with mode 0700.
func (System) Mkdir(path string) error { return os.Mkdir(path, 0o700) }

// Rename is the call of the system: os.Rename refuses what Publish needs.
func (System) Rename(from, to string) error { return syscall.Rename(from, to) }

// Link makes a hard link.
func (System) Link(from, to string) error { return os.Link(from, to) }

// Remove removes a file or an empty directory.
func (System) Remove(path string) error { return os.Remove(path) }

type systemFile struct{ *os.File }

// Flock changes the lock on the file. The lock belongs to the open file, so it
// also holds between two openings in one process.
func (f systemFile) Flock(how int) error {
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

// lookup reads what is at path without following it.
func lookup(path string) (fs.FileInfo, error) { return os.Lstat(path) }

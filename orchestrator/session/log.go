package session

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// OpenLog opens a log of a session to append to, and makes it if it is missing. Agents
// can write where it lies: a symbolic link would lead its lines elsewhere, and a pipe
// would keep the writer waiting, so both are refused.
func OpenLog(path string) (*os.File, error) {
	const flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	return regular(os.OpenFile(path, flags, 0o600))
}

// ReadLog opens a log of a session to read it, by the rules of OpenLog.
func ReadLog(path string) (*os.File, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0))
}

// regular closes f and fails unless f is a regular file.
func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

package site

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// errOutside is of a link. What is wrong in a file is said in its own words, so that a repository could
// have any file of the machine read and shown.
var errOutside = errors.New("is a link that leads out of the project, which agentmux does not follow: put the file itself in its place")

// Files are those of a project, without what links in it lead to elsewhere.
func Files(project string) fs.FS { return files(project) }

type files string

// Open implements fs.FS.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that has no writer would wait for one
	// The library has no name for its error; all others are the system's.
	if at := (*fs.PathError)(nil); errors.As(err, &at) && !errors.As(err, new(syscall.Errno)) {
		err = &fs.PathError{Op: at.Op, Path: name, Err: errOutside}
	}
	if err != nil {
		return nil, err // and no nil *os.File in it
	}
	return file, nil
}

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
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.FS().Open(name)
	// The library has no name for its error; all others are the system's.
	if at := (*fs.PathError)(nil); errors.As(err, &at) && !errors.Is(err, fs.ErrInvalid) && !errors.As(err, new(syscall.Errno)) {
		err = &fs.PathError{Op: at.Op, Path: name, Err: errOutside}
	}
	return file, err
}

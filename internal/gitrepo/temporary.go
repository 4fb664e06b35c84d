package gitrepo

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// staleTemporary is the age at which a temporary directory belongs to no living process:
// what it is for takes a few calls of git.
const staleTemporary = time.Hour

// temporary makes a directory for the files of one task. It lies in the repository's own
// directory, where whoever opens the repository next finds what a kill has left. The
// caller calls remove.
func (h *Host) temporary(task string) (dir string, remove func(), err error) {
	if err := os.MkdirAll(h.temporaries(), 0o700); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp(h.temporaries(), task+"-*")
	return dir, func() { _ = removeAll(dir) }, err
}

func (h *Host) temporaries() string { return filepath.Join(h.dir, "tmp") }

// sweep removes temporary directories that nobody uses any more. One that cannot be
// removed harms nobody.
func (h *Host) sweep() {
	found, _ := os.ReadDir(h.temporaries())
	for _, e := range found {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleTemporary {
			_ = removeAll(filepath.Join(h.temporaries(), e.Name()))
		}
	}
}

// TempError says that the machine's directory for temporary files cannot be used: it is
// full, not there, or closed.
type TempError struct {
	Dir string
	err error
}

func tempError(err error) error { return &TempError{Dir: os.TempDir(), err: err} }

// Error names the directory and what to do.
func (e *TempError) Error() string {
	return fmt.Sprintf("temporary files cannot be written to %s: %v; make room there, or set TMPDIR to another directory", e.Dir, e.err)
}

func (e *TempError) Unwrap() error { return e.err }

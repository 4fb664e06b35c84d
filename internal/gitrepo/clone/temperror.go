package clone

import (
	"fmt"
	"os"
)

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

//go:build unix && !linux

package shield

import (
	"errors"
	"fmt"
	"os"
)

// Unreadable fails with errors.ErrUnsupported: what others of its user may read of a process is
// the system's to say here, whatever its program is.
func Unreadable(program string) (*os.File, error) {
	return nil, fmt.Errorf("close %s to others: %w", program, errors.ErrUnsupported)
}

// Lock does nothing: there is nothing to lock.
func Lock(*os.File) error { return nil }

// Closed is true: a process is closed as the system closes it.
func Closed(int) bool { return true }

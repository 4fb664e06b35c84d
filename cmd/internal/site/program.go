package site

import (
	"errors"
	"os/exec"
)

// NotRun says why a program gave no version.
func NotRun(name string, err error) string {
	if notFound(err) {
		return name + " is not installed: it is not in PATH"
	}
	return err.Error()
}

// notFound reports whether a program is not in PATH.
func notFound(err error) bool { return errors.Is(err, exec.ErrNotFound) }

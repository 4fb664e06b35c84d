//go:build !linux

package tmux

import "errors"

// workdir is not known here: tmux is asked.
func workdir(int) (string, error) { return "", errors.ErrUnsupported }

//go:build !linux

package watch

import "errors"

// process exists where the system can tell the end of any process.
type process struct{}

func openProcess(int) (process, error) { return process{}, errors.ErrUnsupported }

func (process) wait() {}

func (process) Close() error { return nil }

package handover

import (
	"context"
	"errors"
	"syscall"
)

// Err, as the cause of a context, has a session let go of for another host: its agents are ended
// and it is saved, without an outcome.
var Err = errors.New("the session is handed over to another host")

// FullError ends the host of a session whose disk is full: it is let go of as with [Err].
type FullError struct{ Err error }

func (e *FullError) Error() string { return "the disk is full: " + e.Err.Error() }

func (e *FullError) Unwrap() error { return e.Err }

// Is makes it an Err.
func (e *FullError) Is(target error) bool { return target == Err }

// Full returns a context in which a session is let go of whose host ends with err, and that error, if err is of a full disk; else both
// as they are.
func Full(ctx context.Context, err error) (context.Context, error) {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return ctx, err
	}
	full := &FullError{err}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	cancel(full)
	return ctx, full
}

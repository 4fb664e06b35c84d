// Package exit has the exit codes of the command and the errors that ask for one. Explain maps
// every error to its code and to what the person is told; it prints nothing.
package exit

import (
	"errors"
	"os"
	"syscall"

	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// Exit codes.
const (
	Done       = 0
	Failed     = 1
	BadUsage   = 2
	NeedsHuman = 3
	Locked     = 4
	Canceled   = 130
)

// Error is an error with the exit code it asks for. Without an error it only
// sets the code: the message was printed before.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Usage marks an error as one of the command line or the configuration.
func Usage(err error) error { return &Error{Code: BadUsage, Err: err} }

// UsageText is Usage of a text.
func UsageText(text string) error { return Usage(errors.New(text)) }

// Quiet sets an exit code and says nothing.
func Quiet(code int) error {
	if code == Done {
		return nil
	}
	return &Error{Code: code}
}

// Explain returns the exit code of an error and what a person is told.
func Explain(err error) (code int, text string) {
	if err == nil {
		return Done, ""
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Code, worded(err)
	}
	for _, match := range sessionErrors {
		if match.is(err) {
			return match.code, worded(err)
		}
	}
	return Failed, worded(err)
}

// worded is the error in words, with what a person can do about a full disk.
func worded(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err.Error() + "; make room on that disk and run it again: what is on record is kept"
	}
	return err.Error()
}

// sessionErrors are the errors of the session package with their codes.
var sessionErrors = []struct {
	code int
	is   func(error) bool
}{
	{Locked, As[*session.LockedError]},
	{Locked, func(err error) bool { return errors.Is(err, session.ErrLockLost) }},
	{BadUsage, As[*session.NotFoundError]},
	{BadUsage, As[*session.AmbiguousError]},
	{BadUsage, As[*session.NewerError]},
	{BadUsage, As[*register.ForeignError]},
	{BadUsage, As[*session.NameError]},
	{BadUsage, func(err error) bool { return errors.Is(err, session.ErrBlankRequest) }},
}

// As reports whether an error of type T is in the chain of err.
func As[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// Bare returns the error of a file without its operation and path.
func Bare(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

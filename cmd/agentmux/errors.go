package main

import (
	"errors"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// Exit codes.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNeedsHuman = 3
	exitLocked     = 4
	exitCanceled   = 130
)

// codeError is an error with the exit code it asks for. Without an error it only
// sets the code: what is to be said was said.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// usage marks an error as one of the command line or the configuration.
func usage(err error) error { return &codeError{exitUsage, err} }

func usageText(text string) error { return usage(errors.New(text)) }

// quiet sets an exit code and says nothing.
func quiet(code int) error {
	if code == exitDone {
		return nil
	}
	return &codeError{code: code}
}

// explain returns the exit code of an error and what a person is told.
func explain(err error) (code int, text string) {
	if err == nil {
		return exitDone, ""
	}
	var coded *codeError
	if errors.As(err, &coded) {
		return coded.code, err.Error()
	}
	for _, match := range sessionErrors {
		if match.is(err) {
			return match.code, err.Error()
		}
	}
	return exitFailed, err.Error()
}

// sessionErrors are the errors of the session package with their codes.
var sessionErrors = []struct {
	code int
	is   func(error) bool
}{
	{exitLocked, as[*session.LockedError]},
	{exitLocked, func(err error) bool { return errors.Is(err, session.ErrLockLost) }},
	{exitUsage, as[*session.NotFoundError]},
	{exitUsage, as[*session.AmbiguousError]},
	{exitUsage, as[*session.NewerError]},
	{exitUsage, as[*session.ForeignError]},
	{exitUsage, as[*session.NameError]},
	{exitUsage, func(err error) bool { return errors.Is(err, session.ErrBlankRequest) }},
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
)

// ErrBlankRequest says that a session was asked for without saying what to do.
var ErrBlankRequest = errors.New("the request is blank: say what should be done")

// ErrBusy says that other writers held a file for too long; nothing was written.
var ErrBusy = durable.ErrBusy

// LockedError says that another process hosts the session.
type LockedError struct {
	Name  string
	Owner Owner
}

// Error names the holder and how to look at the session.
func (e *LockedError) Error() string {
	who := "another process"
	if e.Owner.PID > 0 {
		who = fmt.Sprintf("process %d on %s", e.Owner.PID, e.Owner.Host)
	}
	return fmt.Sprintf("%s is run by %s; see agentmux attach %s", e.Name, who, e.Name)
}

// NotFoundError says that there is no such session.
type NotFoundError struct{ What string }

// Error names the command that lists what there is.
func (e *NotFoundError) Error() string {
	if e.What == "" {
		return "no session here; agentmux sessions lists them"
	}
	return fmt.Sprintf("no session %q; agentmux sessions lists them", e.What)
}

// AmbiguousError says that several sessions fit.
type AmbiguousError struct {
	What       string
	Candidates []string
}

// Error lists the candidates.
func (e *AmbiguousError) Error() string {
	what := "several sessions fit"
	if e.What != "" {
		what = fmt.Sprintf("%q fits several sessions", e.What)
	}
	return what + ": " + strings.Join(e.Candidates, ", ")
}

// CorruptError says why a session cannot be read.
type CorruptError struct {
	Name   string
	Reason string
	cause  error
}

// Error names the way back.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is corrupt: %s; try agentmux resume %s --from-backup", e.Name, e.Reason, e.Name)
}

// Unwrap gives what was wrong with the file, if an operation on it failed.
func (e *CorruptError) Unwrap() error { return e.cause }

// NewerError says that a newer agentmux made the session.
type NewerError struct{ Name string }

// Error says what to do.
func (e *NewerError) Error() string {
	return e.Name + " was made by a newer agentmux; upgrade this one"
}

// Unwrap gives orchestrator.ErrNewer.
func (e *NewerError) Unwrap() error { return orchestrator.ErrNewer }

// NameError says that a name given for a session cannot be used.
type NameError struct {
	Name  string
	Taken bool
}

// Error says what to do instead.
func (e *NameError) Error() string {
	if e.Taken {
		return fmt.Sprintf("session %s exists; agentmux resume %s goes on with it", e.Name, e.Name)
	}
	return fmt.Sprintf("%q is no session name: letters, digits, _ and -, at most 80, beginning with a letter or digit", e.Name)
}

func (s *Session) lockError(err error) error {
	if errors.Is(err, durable.ErrLocked) {
		return &LockedError{Name: s.Name(), Owner: Holder(s.Dir)}
	}
	return err
}

// stateError gives the errors of the state file their types.
func (s *Session) stateError(err error) error {
	var corrupt *orchestrator.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return &CorruptError{Name: s.Name(), Reason: corrupt.Reason, cause: err}
	case errors.Is(err, orchestrator.ErrNewer):
		return &NewerError{Name: s.Name()}
	default:
		return err
	}
}

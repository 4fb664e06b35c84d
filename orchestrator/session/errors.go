package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
)

// ErrBlankRequest says that a session was asked for without saying what to do.
var ErrBlankRequest = errors.New("the request is blank: say what should be done")

// ErrBusy says that other writers held a file for too long; nothing was written.
var ErrBusy = durable.ErrBusy

// ErrStays says that a line was not brought to disk, and stays in its file nevertheless: the host may take it.
var ErrStays = durable.ErrStays

// errNotRegular says that something else than a file has a file's name.
var errNotRegular = errors.New("is not a regular file")

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

// NotFoundError says that there is no such session. Unfit is how many there are of that name,
// or in the project where none was named, that do not take the command.
type NotFoundError struct {
	What  string
	Unfit int
	Lists string // the command that lists what was searched; empty: that of the project
}

// Error names the command that lists what there is, or one that starts a session.
func (e *NotFoundError) Error() string {
	lists := cmp.Or(e.Lists, "agentmux sessions")
	switch {
	case e.What == "" && e.Unfit == 0:
		return "no sessions here; agentmux issue N or agentmux run \"...\" starts one"
	case e.What == "":
		return "no session here fits this command; " + lists + " lists them"
	case e.Unfit > 0:
		return fmt.Sprintf("none of the %d sessions that %q means fits this command; %s lists them", e.Unfit, e.What, lists)
	}
	return fmt.Sprintf("no session %q; %s lists them", e.What, lists)
}

// AmbiguousError says that several sessions fit.
type AmbiguousError struct {
	What       string
	Candidates []string
}

// maxCandidates is how many names a person reads in one line.
const maxCandidates = 8

// Error lists the candidates.
func (e *AmbiguousError) Error() string {
	what := "several sessions fit"
	if e.What != "" {
		what = fmt.Sprintf("%q fits several sessions", e.What)
	}
	names, more := e.Candidates, ""
	if n := len(names) - maxCandidates; n > 0 {
		names, more = names[n:], fmt.Sprintf(" or %d older ones; agentmux sessions lists them", n)
	}
	return what + ", name one of " + strings.Join(names, ", ") + more
}

// CorruptError says why a session cannot be read.
type CorruptError struct {
	Name   string
	Reason string
	Next   string // what to do; empty = take the backup of the state
	cause  error
}

// startAgain is what is left where neither the state nor its backup is.
const startAgain = "start again with agentmux run or issue"

// Error names the way back.
func (e *CorruptError) Error() string {
	next := e.Next
	if next == "" {
		next = "try agentmux resume " + e.Name + " --from-backup"
	}
	return fmt.Sprintf("%s is corrupt: %s; %s", e.Name, e.Reason, next)
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
		return fmt.Sprintf("session %s exists; agentmux resume %s goes on with it while its work is not done, another --name starts a new one", e.Name, e.Name)
	}
	return fmt.Sprintf("%q is not a session name: letters, digits, _ and -, at most 80, beginning with a letter or digit", e.Name)
}

// ErrLockLost says that somebody removed or replaced the lock file of a session under its host:
// another one may have taken it. Nothing was written.
var ErrLockLost = errors.New("the lock file was removed or replaced, so that this host has the session no longer")

func (s *Session) lockError(err error) error {
	if errors.Is(err, durable.ErrLocked) {
		return &LockedError{Name: s.Name(), Owner: Holder(s.Dir)}
	}
	return err
}

// unusable makes a file that cannot be one of a session's, or that this user may not
// read, a *CorruptError; other errors of the machine stay what they are.
func (s *Session) unusable(file string, err error, next string) error {
	for _, cause := range []error{errNotRegular, fs.ErrPermission, syscall.ELOOP, syscall.EISDIR} {
		if errors.Is(err, cause) {
			var at *fs.PathError
			if errors.As(err, &at) {
				err = at.Err
			}
			if errors.Is(err, syscall.ELOOP) {
				err = errors.New("is a symbolic link")
			}
			return &CorruptError{Name: s.Name(), Reason: fmt.Sprintf("%s: %v", file, err), Next: next, cause: cause}
		}
	}
	return fmt.Errorf("read %s of %s: %w", file, s.Name(), err)
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

package transport

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// ErrPullRequest is returned for an issue number that belongs to a pull request.
var ErrPullRequest = errors.New("is a pull request, not an issue")

// RetryAfter means not now: a limit, or a server that kept failing. Nothing was applied.
// The caller keeps what it wanted pending and asks again after Wait.
type RetryAfter struct {
	Wait  time.Duration
	Scope string // primary, secondary, content: of the server; own: of ours; token, server, absence
	Err   error  // what the server said; may be nil
}

func (e *RetryAfter) Error() string {
	text := fmt.Sprintf("try again in %s (%s limit)", e.Wait.Round(time.Second), e.Scope)
	switch e.Scope {
	case "server":
		text = fmt.Sprintf("try again in %s: GitHub does not answer", e.Wait.Round(time.Second))
	case "token":
		text = fmt.Sprintf("try again in %s with a new token", e.Wait.Round(time.Second))
	case "absence":
		text = fmt.Sprintf("look again in %s", e.Wait.Round(time.Second))
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *RetryAfter) Unwrap() error { return e.Err }

// NotFound means that the thing is not there or not visible to this identity. Gone is the
// server's word that it was there and was deleted.
type NotFound struct {
	Kind string // repository, issue, comment, pull request, label, user, or resource
	Gone bool
}

func (e *NotFound) Error() string {
	if e.Gone {
		return e.Kind + " was deleted"
	}
	return e.Kind + " not found, or not visible to this account"
}

// Codes of Terminal that callers branch on.
const (
	CodeRefExists        = "ref_exists"
	CodeRefFailed        = "ref_failed"
	CodePRExists         = "pr_exists"
	CodeNoCommits        = "no_commits"
	CodeHeadInvalid      = "head_invalid"
	CodeBodyTooLong      = "body_too_long"
	CodeLabelExists      = "label_exists"
	CodeReviewFromAuthor = "review_from_author"
	CodeDraftUnsupported = "draft_unsupported"
	CodeBaseInvalid      = "base_invalid" // the base branch is not there
	CodeNoCommit         = "no_commit"    // the server does not know the commit
	CodeValidation       = "validation"
	CodePRForbidden      = "pr_forbidden"
	CodeLocked           = "locked"
	CodeSuspended        = "suspended" // the installation
	CodeUnauthorized     = "unauthorized"
	CodeForbidden        = "forbidden"
	CodeConflict         = "conflict"
	CodeLegal            = "legal"
	CodeRefused          = "refused"
	CodeGraphQL          = "graphql"
)

// Terminal means never with this configuration: the same call gives the same answer until
// somebody changes something. Hint is one sentence for a person and may be empty.
type Terminal struct {
	Status  int // 0 when the request was not sent
	Code    string
	Message string
	Hint    string
	Needs   string // the permissions that the token lacks, where the server names them
}

func (e *Terminal) Error() string {
	text := cmp.Or(e.Message, e.Code)
	if e.Status != 0 {
		text = fmt.Sprintf("GitHub answered %d: %s", e.Status, text)
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Away means that the server refuses the identity itself: its token and the one that came in its
// place, or the App that asked for one. Nothing was applied. Whatever is asked for gives the same
// answer until a person has changed something outside of this program; then it is possible again.
type Away struct {
	Err error // what the server said
}

func (e *Away) Error() string { return "this account is not accepted: " + e.Err.Error() }

func (e *Away) Unwrap() error { return e.Err }

// IsAway reports whether err says that the identity itself is refused.
func IsAway(err error) bool { return errors.As(err, new(*Away)) }

// Ambiguous means that a creating request was sent and its fate is unknown. Look for the
// result by its key before creating again.
type Ambiguous struct {
	Method, Path string
	Err          error
}

func (e *Ambiguous) Error() string {
	return fmt.Sprintf("%s %s may or may not have been applied: %v", e.Method, e.Path, e.Err)
}

func (e *Ambiguous) Unwrap() error { return e.Err }

// Unsent means that a creating request never left this machine; it may be made again at once.
type Unsent struct {
	Err error
}

func (e *Unsent) Error() string { return fmt.Sprintf("not sent: %v", e.Err) }

func (e *Unsent) Unwrap() error { return e.Err }

// Moved means that the repository answers under another name. Read it again by its id and
// repeat the call there.
type Moved struct {
	Location string
}

func (e *Moved) Error() string { return "moved to " + e.Location }

// Later tells whether err passes with time, and after how long. An error that is not of
// this package counts as passing: the network may come back.
func Later(err error) (wait time.Duration, again bool) {
	var (
		after    *RetryAfter
		terminal *Terminal
		missing  *NotFound
	)
	switch {
	case err == nil:
		return 0, false
	case IsAway(err): // although what the server said does not pass
		return 0, true
	case errors.As(err, &after):
		return after.Wait, true
	case errors.As(err, &terminal), errors.As(err, &missing), errors.Is(err, ErrPullRequest):
		return 0, false
	}
	return 0, true
}

// HasCode reports whether err is a Terminal with this code.
func HasCode(err error, code string) bool {
	var terminal *Terminal
	return errors.As(err, &terminal) && terminal.Code == code
}

// IsNotFound reports whether err says that something is not there.
func IsNotFound(err error) bool { return errors.As(err, new(*NotFound)) }

// IsMoved reports whether err says that a repository or an issue is at another address now.
func IsMoved(err error) bool { return errors.As(err, new(*Moved)) }

package account

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// IsUnauthorized reports whether GitHub refused the token.
func IsUnauthorized(err error) bool { return transport.HasCode(err, transport.CodeUnauthorized) }

// refusedToken says what to do about a token that GitHub refused. It names the place of that
// token, because a token elsewhere would not be used.
func refusedToken(from string) (hint string) {
	switch {
	case strings.HasPrefix(from, "gh "):
		return "gh auth login makes another"
	case strings.HasPrefix(from, "the App "):
		return "see that github.app.client_id and github.app.key_file belong together"
	}
	if from == FileVariable {
		return "write another to the file that " + from + " names"
	}
	return "set " + from + " to another, or unset it and run gh auth login"
}

// Words returns what happened to what, and what to do, for an error of GitHub.
func Words(err error, what, tokenFrom string) (detail, hint string) {
	var terminal *transport.Terminal
	var later *transport.RetryAfter
	var missing *transport.NotFound
	switch {
	case errors.Is(err, transport.ErrPullRequest):
		return what + " is a pull request", "give the number of an issue"
	case errors.As(err, &missing) && missing.Gone:
		return what + " was deleted", "check the number"
	case errors.As(err, &missing):
		return what + " is not there, or this account may not see it", "check the name, the number and that the token may read the repository"
	case IsUnauthorized(err):
		return what + ": GitHub refused the token from " + tokenFrom + ": it is wrong, expired or revoked", refusedToken(tokenFrom)
	case errors.As(err, &terminal) && terminal.Status == 403:
		hint = "agentmux doctor shows what the token may do"
		if terminal.Needs != "" {
			hint = terminal.Hint + ": " + hint
		}
		return what + ": GitHub forbids it: " + terminal.Message, hint
	case errors.As(err, &terminal):
		return what + ": " + terminal.Error(), "agentmux doctor probes the server and the token"
	case errors.As(err, &later) && later.Scope != "server" && later.Scope != "token":
		return fmt.Sprintf("%s: GitHub's %s rate limit is used up", what, later.Scope), tryAgain(later.Wait)
	}
	hint = "is the network up, and github.host right? agentmux doctor probes it"
	if later != nil && !IsUnreached(err) {
		hint = "try again in a few minutes; agentmux doctor probes it"
	}
	return what + ": GitHub does not answer: " + LastWords(err), hint
}

// IsUnreached reports whether the connection to GitHub failed, and not the server.
func IsUnreached(err error) bool {
	return errors.As(err, new(net.Error)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// tryAgain says when to repeat: by the clock if that is more than an hour away.
func tryAgain(wait time.Duration) string {
	if wait > time.Hour {
		return "try again after " + time.Now().Add(wait).Format("2006-01-02 15:04")
	}
	return "try again in " + wait.Round(time.Second).String()
}

// LastWords returns the innermost cause of an error, without the prefixes of the layers.
func LastWords(err error) string {
	var terminal *transport.Terminal
	if errors.As(err, &terminal) {
		return terminal.Message
	}
	var op *net.OpError
	if errors.As(err, &op) {
		cause := op.Err.Error()
		var sys *os.SyscallError
		if errors.As(op.Err, &sys) {
			cause = sys.Err.Error()
		}
		if op.Addr != nil {
			return op.Addr.String() + ": " + cause
		}
		return cause
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

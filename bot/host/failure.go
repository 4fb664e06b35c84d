package host

import (
	"errors"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// classed tells the engine what to do after an error of one of the parts: wait for a remote
// side, give up, or try again soon. shown is the error without secrets, which may have lost
// its type.
func (r *runner) classed(err, shown error) error {
	if held, ok := isHeldBack(err, shown); ok {
		return held
	}
	if r.isAway(err) {
		return engine.Away(shown)
	}
	var later *transport.RetryAfter
	if errors.As(err, &later) {
		return engine.Remote(shown, later.Wait)
	}
	var push *remote.PushError
	var read *remote.ReadError
	if transport.IsAway(err) || is[*transport.Unsent](err) || is[*transport.Ambiguous](err) || is[*transport.Moved](err) ||
		errors.As(err, &push) && push.Kind == remote.PushNetwork ||
		errors.As(err, &read) && read.Kind == remote.PushNetwork {
		return engine.Remote(shown, 0)
	}
	if is[*workspace.RefusedError](err) || is[*transport.Terminal](err) || is[*transport.NotFound](err) {
		return engine.Never(shown)
	}
	return shown
}

// isAway reports whether a host that waits for its account failed because GitHub refuses that. git
// is told no more than that it may not.
func (r *runner) isAway(err error) bool {
	if r.Away == nil {
		return false
	}
	var push *remote.PushError
	var read *remote.ReadError
	denied := errors.As(err, &push) && push.Kind == remote.PushDenied || errors.As(err, &read) && read.Kind == remote.PushDenied
	return transport.IsAway(err) || denied && r.Away() != nil
}

func is[T error](err error) bool { return errors.As(err, new(T)) }

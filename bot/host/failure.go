package host

import (
	"errors"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// classed tells the engine how to go on after an error of one of the parts: with
// patience for a remote side, not at all, or soon again. shown is the error without
// secrets, which may have lost its type.
func classed(err, shown error) error {
	var later *transport.RetryAfter
	if errors.As(err, &later) {
		return engine.Remote(shown, later.Wait)
	}
	var push *gitrepo.PushError
	var read *gitrepo.RemoteError
	if is[*transport.Unsent](err) || is[*transport.Ambiguous](err) || is[*transport.Moved](err) ||
		errors.As(err, &push) && push.Kind == gitrepo.PushNetwork ||
		errors.As(err, &read) && read.Kind == gitrepo.PushNetwork {
		return engine.Remote(shown, 0)
	}
	if is[*gitrepo.RefusedError](err) || is[*transport.Terminal](err) || is[*transport.NotFound](err) {
		return engine.Never(shown)
	}
	return shown
}

func is[T error](err error) bool { return errors.As(err, new(T)) }

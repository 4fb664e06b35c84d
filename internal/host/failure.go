package host

import (
	"errors"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// never marks what no repetition can change.
func never(err error) error { return engine.Never(err) }

// classed tells the engine how to go on after an error of one of the parts: with
// patience for a remote side, not at all, or soon again.
func classed(err error) error {
	var later *ghsync.RetryAfter
	if errors.As(err, &later) {
		return engine.Remote(err, later.Wait)
	}
	var push *gitrepo.PushError
	if errors.As(err, new(*ghsync.Unsent)) || errors.As(err, new(*ghsync.Ambiguous)) ||
		errors.As(err, &push) && push.Kind == gitrepo.PushNetwork {
		return engine.Remote(err, 0)
	}
	if errors.As(err, new(*gitrepo.RefusedError)) || errors.As(err, new(*ghsync.Terminal)) {
		return engine.Never(err)
	}
	return err
}

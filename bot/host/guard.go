package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// A Guard knows whether this host may still write to the outside for a session: whether it
// holds the claim of the session's issue. Its methods are called from several goroutines.
type Guard interface {
	// Check is asked before each write to the outside. An error holds the write back.
	Check(ctx context.Context) error
	// Lost is closed when another host is known to hold the claim; Holder then returns its id.
	Lost() <-chan struct{}
	Holder() string
}

// guardPause is how long a write is held back until the guard is asked again.
const guardPause = 10 * time.Second

// heldBack is a write that the guard did not allow.
type heldBack struct{ err error }

func (e *heldBack) Error() string { return fmt.Sprintf("check the claim: %v", e.err) }

func (e *heldBack) Unwrap() error { return e.err }

// guarding asks a guard, if there is one, in the ways of those who write.
type guarding struct {
	guard   Guard
	mayPush func(context.Context) (refused string, err error)
	away    *checkpoint.Away
}

// lost reports whether the guard knows of another holder.
func (g guarding) lost() bool {
	select {
	case <-g.guard.Lost():
		return true
	default:
		return false
	}
}

// check is asked before what an effect writes to the outside.
func (g guarding) check(ctx context.Context) error {
	if err := g.guard.Check(ctx); err != nil {
		return &heldBack{err}
	}
	return nil
}

// forMirror is asked before each write of the mirror; nil without a guard.
func (g guarding) forMirror() func(context.Context) error {
	if g.guard == nil {
		return nil
	}
	return func(ctx context.Context) error {
		err := g.guard.Check(ctx)
		switch {
		case err == nil:
			return nil
		case g.lost():
			return fmt.Errorf("%w: %w", mirror.ErrClaimLost, err)
		}
		return &transport.RetryAfter{Wait: guardPause, Scope: "claim", Err: err}
	}
}

// MirrorGuard returns what a mirror asks before each write under a guard.
func MirrorGuard(g Guard) func(context.Context) error { return guarding{guard: g}.forMirror() }

// losing returns what tells the engine of the loss. stop must be called, and waits.
func (g guarding) losing() (lost <-chan string, stop func()) {
	if g.guard == nil {
		return nil, func() {}
	}
	told, done, over := make(chan string, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-g.guard.Lost():
			told <- g.guard.Holder()
		case <-done:
		}
	}()
	return told, func() {
		close(done)
		<-over
	}
}

// isHeldBack tells the engine to try again later what the guard did not allow.
func isHeldBack(err, shown error) (error, bool) {
	if !errors.As(err, new(*heldBack)) {
		return nil, false
	}
	return engine.Remote(shown, guardPause), true
}

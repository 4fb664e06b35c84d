package hosting

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// Detacher returns what detaches the person's terminal from the session's own tmux; nil for a
// monitor elsewhere.
func Detacher(ctx context.Context, e session.Entry, control bool) func() error {
	if !control {
		return nil
	}
	return func() error {
		server, err := controlServer(ctx, e)
		if err != nil {
			return err
		}
		return server.Detach(ctx)
	}
}

// attachedPause is the time between two questions whether somebody still looks.
const attachedPause = 5 * time.Second

// WhileAttached returns a context that ends when no terminal is attached to the session's own
// tmux, and whether one is now. For a monitor elsewhere nothing ends it. stop must be called.
func WhileAttached(ctx context.Context, e session.Entry, control bool) (_ context.Context, stop func(), now bool) {
	ctx, cancel := context.WithCancel(ctx)
	if !control {
		return ctx, cancel, true
	}
	attached := func() bool {
		server, err := controlServer(ctx, e)
		if err != nil {
			return true // the monitor says what is wrong
		}
		yes, err := server.Attached(ctx)
		return yes || err != nil
	}
	if !attached() {
		return ctx, cancel, false
	}
	var done sync.WaitGroup
	done.Go(func() {
		defer cancel()
		tick := time.NewTicker(attachedPause)
		defer tick.Stop()
		for attached() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return ctx, func() { cancel(); done.Wait() }, true
}

// controlServer is the tmux server of a session.
func controlServer(ctx context.Context, e session.Entry) (*tmux.Server, error) {
	sess, err := session.Open(e.Dir)
	if err != nil {
		return nil, err
	}
	return site.OpenServer(ctx, site.SocketOf(e.Dir, e.State, sess.ReadRuntime()))
}

// TypedBefore is how recently a person must have typed when a command arrives: the command follows
// its key at once, and tmux counts in seconds.
const TypedBefore = 3 * time.Second

// TypedHere refuses a command of the monitor's window unless a person has just typed at a terminal
// that shows it: every process of this user can send keys to the window over tmux's socket.
func TypedHere(ctx context.Context, e session.Entry, control bool) error {
	if !control {
		return nil
	}
	since := time.Now().Add(-TypedBefore)
	server, err := controlServer(ctx, e)
	if err != nil {
		return err
	}
	typed, err := server.Typed(ctx, since)
	if err == nil && !typed {
		err = errors.New("no terminal has typed this; agentmux attach " + e.Name)
	}
	return err
}

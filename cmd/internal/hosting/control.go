package hosting

import (
	"context"
	"errors"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Detacher takes the person's terminal off a session's own tmux; nil for a monitor elsewhere.
func Detacher(ctx context.Context, e session.Entry, control bool) func() error {
	if !control {
		return nil
	}
	return func() error {
		sess, err := session.Open(e.Dir)
		if err != nil {
			return err
		}
		server, err := site.OpenServer(ctx, site.SocketOf(e.Dir, e.State, sess.ReadRuntime()))
		if err != nil {
			return err
		}
		return server.Detach(ctx)
	}
}

// typedBefore is how long before a command a terminal must have been typed at: tmux counts
// seconds, and the command follows its key at once.
const typedBefore = 3 * time.Second

// TypedHere refuses a command of the window that every process of this user can type into over
// the socket of tmux, unless a person has just typed at a terminal that shows it.
func TypedHere(ctx context.Context, e session.Entry, control bool) error {
	if !control {
		return nil
	}
	since := time.Now().Add(-typedBefore)
	sess, err := session.Open(e.Dir)
	if err != nil {
		return err
	}
	server, err := site.OpenServer(ctx, site.SocketOf(e.Dir, e.State, sess.ReadRuntime()))
	if err != nil {
		return err
	}
	typed, err := server.Typed(ctx, since)
	if err == nil && !typed {
		err = errors.New("no terminal has typed this; agentmux attach " + e.Name)
	}
	return err
}

package hosting

import (
	"context"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// WaitEnd waits until the host of a detached session ends, and returns its exit code. An
// interrupt ends the wait, not the session.
func WaitEnd(ctx context.Context, a *site.Finder, sess *session.Session) error {
	a.Say("waiting for its end; agentmux attach %s joins it", sess.Name())
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for session.Running(sess.Dir) {
		select {
		case <-ctx.Done():
			a.Say("%s continues without you", sess.Name())
			a.Say("next: agentmux attach %s joins it, agentmux stop %s ends it", sess.Name(), sess.Name())
			return exit.Quiet(exit.Canceled)
		case <-tick.C:
		}
	}
	state, err := sess.ReadState()
	if err != nil {
		return err
	}
	if !state.Ended() {
		return fmt.Errorf("the host of %s ended: %s; agentmux resume %s continues it", sess.Name(), lastLine(sess.Path(session.HostLog)), sess.Name())
	}
	show.TellEnd(ctx, a, sess.Dir, state)
	return exit.Quiet(outcomeCode(state))
}

// Join attaches the terminal to a session that was just started, once its tmux server runs.
func Join(ctx context.Context, a *site.Finder, s *site.Site, dir string) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		if state, err := sess.ReadState(); err == nil {
			if _, err := site.OpenServer(ctx, site.SocketOf(sess.Dir, state, sess.ReadRuntime())); err == nil {
				break
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			waiting = false
		case <-tick.C:
		}
	}
	entry, err := session.Find(sess.Project(), sess.Name(), nil)
	if err != nil {
		return err
	}
	return Attach(ctx, a, s, entry, "")
}

package host

import (
	"context"
	"errors"
	"time"

	"github.com/agentmux/agentmux/bot/handover"
	"github.com/agentmux/agentmux/orchestrator"
)

// ErrHandOver is [handover.Err].
var ErrHandOver = handover.Err

// IsHandOver reports whether ctx ended because the session is to be handed over.
func IsHandOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrHandOver) }

const handOverTime = 2 * time.Minute

// vacate ends the agents of a session that is handed over, and reports whether it is.
func (r *runner) vacate(ctx context.Context, s *orchestrator.State) bool {
	if !IsHandOver(ctx) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverTime)
	defer cancel()
	if err := errors.Join(r.crew.EndLaunches(ctx, s), r.crew.RemoveServer(ctx)); err != nil {
		r.Log.Warn("not all agents are known to have ended", "session", r.sess.Name(), "err", err)
	}
	return true
}

// handOver saves the session, whose agents have ended, with what they have not handed in. What fails is for
// the log: the next host has an older checkpoint then.
func (r *runner) handOver(ctx context.Context, s *orchestrator.State) *orchestrator.State {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverTime)
	defer cancel()
	s, err := handover.Save(ctx, r.sess, s, r.work.Checkpoint)
	if err != nil {
		r.Log.Warn("not everything was handed over", "session", r.sess.Name(), "err", err)
	}
	return s
}

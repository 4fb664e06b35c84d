package crew

import (
	"context"
	"errors"

	"github.com/agentmux/agentmux/bot/transcript"
	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/tmux"
)

// openRecorders starts to listen. Without a socket there are no transcripts, and the session
// continues.
func (r *Crew) openRecorders() *transcript.Recorders {
	rs := transcript.NewRecorders(r.sess, r.panes.recordAt, r.Redactor, r.Log.With("session", r.sess.Name()))
	if !r.cfg.Session.Transcripts {
		return rs
	}
	if err := rs.Listen(r.RuntimeDir); err != nil {
		r.Log.Warn("no transcripts", "session", r.sess.Name(), "err", err)
	}
	return rs
}

// record starts the transcript of a pane. If that fails, the session continues without it.
func (r *Crew) record(ctx context.Context, pane string, launch agent.Launch) {
	socket := r.recorders.Relisten(r.RuntimeDir)
	if socket == "" {
		return
	}
	r.recorders.Expect(launch.Launch)
	err := r.panes.server.Pipe(ctx, pane, []string{r.Self, "transcript", r.sess.Dir, launch.Launch})
	if err == nil {
		return
	}
	r.recorders.Done(launch.Launch)
	if !errors.Is(err, tmux.ErrNoPane) {
		r.Log.Warn("no transcript", "session", r.sess.Name(), "launch", launch.Launch, "err", err)
	}
}

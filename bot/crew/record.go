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
func openRecorders(r *Crew) *transcript.Recorders {
	rs := transcript.NewRecorders(r.sess, r.panes.recordAt, r.Redactor, r.Log.With("session", r.sess.Name()))
	if !r.cfg.Session.Transcripts {
		return rs
	}
	if err := rs.Listen(r.RuntimeDir); err != nil {
		r.Log.Warn("no transcripts", "session", r.sess.Name(), "err", err)
	}
	return rs
}

// recording is the transcript of a launch.
type recording struct {
	*Crew
	launch agent.Launch
}

// program is the one that takes what the pane prints; nil if there are no transcripts.
func (r recording) program() []string {
	if r.recorders.Relisten(r.RuntimeDir) == "" {
		return nil
	}
	r.recorders.Expect(r.launch.Launch)
	return []string{r.Self, "transcript", r.sess.Dir, r.launch.Launch}
}

// start starts the transcript of a pane. If that fails, the session continues without it.
func (r recording) start(ctx context.Context, pane string) {
	argv := r.program()
	if argv == nil {
		return
	}
	err := r.panes.server.Pipe(ctx, pane, argv)
	if err == nil {
		return
	}
	r.recorders.Done(r.launch.Launch)
	if !errors.Is(err, tmux.ErrNoPane) {
		r.Log.Warn("no transcript", "session", r.sess.Name(), "launch", r.launch.Launch, "err", err)
	}
}

package engine

import (
	"context"
	"path"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/message"
)

// messageLines takes what agents wrote to one another, but not while the session is paused or after
// its end: the messages wait for it to continue.
func (l *loop) messageLines(ctx context.Context) error {
	return l.lines(ctx, session.MessageIndex, orchestrator.InMessage, func(s *orchestrator.State) (orchestrator.Cursor, bool) {
		return s.MessageCursor, (!s.Paused || l.last) && !s.Ended()
	})
}

// open reads the letter that a line of the index names, without the secrets in it.
func (o *Options) open(line *orchestrator.Line) {
	p, err := line.Decode()
	if err != nil || line.Tool == "" {
		return // the reducer says so
	}
	dir, name := path.Split(p.File)
	if dir != session.MessagesDir+"/" { // a file has one path, so that it is known when it is named again
		line.Letter = &message.Letter{Problem: "it names no file of a message"}
		return
	}
	letter := postbox.Read(o.Session.Path(session.MessagesDir), name, o.Redact)
	line.Letter = &letter
}

// openSent reads the letter that a command of the person sends.
func (o *Options) openSent(line *orchestrator.Line) {
	if p, err := line.Decode(); err == nil && p.Name == post.CommandSend {
		o.open(line)
	}
}

// archive holds the messages that have left the state.
type archive struct{ postbox.Archive }

// taken reports whether the file that a line names is that of a message which has left the state: the
// index was cut or replaced and is read again, or somebody wrote the line a second time.
func (a *archive) taken(o *Options, st *orchestrator.State, line *orchestrator.Line) bool {
	p, err := line.Decode()
	if err != nil || line.Tool == "" {
		return false
	}
	held, err := a.Holds(p.File, st.MessageSeq)
	if err != nil {
		o.Log.Warn("messages that have ended cannot be read", "err", err)
	}
	return held
}

// file keeps the messages that are about to leave the state. What a kill leaves here of a commit that
// was not made is written again, and the state counts.
func (a *archive) file(o *Options, ended []orchestrator.Message) {
	if err := a.File(ended); err != nil {
		o.Log.Warn("messages that have ended are not kept", "err", err)
	}
}

// viewPause is the least time between two writings of the views of the messages: there may be ten
// thousand, and a commit for each.
const viewPause = time.Second

// views shows the messages of the state in files that nothing is decided by.
type views struct {
	postbox.Views
	stale bool      // the messages changed since
	at    time.Time // they were written last
}

// show writes them if they are stale and it is time.
func (v *views) show(o *Options, st *orchestrator.State) {
	now := o.Now()
	if !v.stale || now.Sub(v.at).Abs() < viewPause {
		return
	}
	v.stale, v.at = false, now
	if err := v.Show(st.Messages, now); err != nil {
		o.Log.Warn("the messages are not shown", "err", err)
	}
}

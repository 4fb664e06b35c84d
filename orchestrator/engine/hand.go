package engine

import (
	"path"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// hand takes the messages whose files somebody laid into their directory.
type hand struct {
	finder postbox.Finder
	soon   bool // a file may be a message in a moment
}

func newHand(s *session.Session) hand {
	h := hand{finder: postbox.Finder{Dir: s.Path(session.MessagesDir)}}
	for _, log := range []string{session.MessageIndex, session.Commands, session.MessagesLog} {
		h.finder.Logs = append(h.finder.Logs, s.Path(log))
	}
	return h
}

// take gives each file by hand that has stopped changing a line of the index, which is of no launch.
func (h *hand) take(o *Options, st *orchestrator.State) {
	if h.soon = false; o.Definition.Team == nil || st.Paused || st.Ended() || !post.TakesClaimed(o.Definition, st) {
		return
	}
	for _, m := range st.Messages {
		h.finder.Know(path.Base(m.File))
	}
	found, soon, err := h.finder.Look(o.Now())
	for _, name := range found {
		if err == nil {
			err = h.index(o, name)
		}
	}
	if h.soon = soon; err != nil {
		o.Log.Warn("messages by hand cannot be taken", "err", err)
	}
}

func (h *hand) index(o *Options, name string) error {
	err := o.Session.Append(session.MessageIndex, o.Now(), func(tail session.Tail) (*session.NewLine, error) {
		if ok, err := h.finder.ByHand(name); !ok || err != nil {
			return nil, err
		}
		p := orchestrator.Payload{File: path.Join(session.MessagesDir, name), SHA256: postbox.Read(h.finder.Dir, name, nil).SHA256}
		return &session.NewLine{Tool: "msg_send", Visit: tail.State.Visit, Payload: p}, nil
	})
	if err == nil {
		h.finder.Know(name)
	}
	return err
}

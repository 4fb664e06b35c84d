package mirror

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// closeAsked edits the comments of questions and gates that are decided by now, each once: a
// person who finds one later would answer it.
func (m *Mirror) closeAsked(ctx context.Context) (time.Duration, error) {
	for _, c := range m.view.Asks.Closed {
		marker := ghsync.Marker{Session: m.view.Identity.Public, Kind: ghsync.KindQuestion, Seq: c.Seq}
		key := marker.Key()
		id := m.st.Comments[key] // 0 if it was too long for a comment, or is not made yet
		if id == 0 || m.st.Closed[key] {
			continue
		}
		text := markdown.Finish(m.o.Redactor, m.view.ClosedText(c))
		err := m.o.Server.Comments.Edit(ctx, m.o.Repo, id, withMarker(text, marker))
		if err != nil && !transport.IsNotFound(err) && !transport.HasCode(err, transport.CodeLocked) {
			return 0, err
		}
		if m.st.Closed == nil {
			m.st.Closed = map[string]bool{}
		}
		m.st.Closed[key] = true
		if err := m.save(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

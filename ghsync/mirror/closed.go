package mirror

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// closeAsked edits the comments that asked what is decided by now, each once: a person who
// finds one later would answer it.
func (m *Mirror) closeAsked(ctx context.Context) (time.Duration, error) {
	for _, c := range m.view.asks.Closed {
		marker := ghsync.Marker{Session: m.view.mark, Kind: ghsync.KindQuestion, Seq: c.Seq}
		key := marker.Key()
		id := m.st.Comments[key] // none of one that was too long for a comment, or is still owed
		if id == 0 || m.st.Closed[key] {
			continue
		}
		text := markdown.Valid(markdown.Redacted(m.o.Redactor, renderClosed(m.view, c, m.n)))
		err := m.sink.EditComment(ctx, id, withMarker(text, marker))
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

// renderClosed is the comment of a question or gate that is decided: what was asked, and what
// became of it.
func renderClosed(v *view, c story.ClosedAsk, n markdown.Neutralizer) string {
	when := clock(c.At, v.started) + " UTC"
	if c.Gate != nil {
		d := *c.Gate
		d.Actor = n.Inline(markdown.Shorten(d.Actor, 80))
		heading := "### The " + story.GateNoun(d.Gate) + " waits no more"
		line := d.String()
		out := heading + "\n\n" + strings.ToUpper(line[:1]) + line[1:] + ", at " + when + "."
		if d.Digest != "" {
			out += " Digest `" + markdown.Abbreviate(d.Digest, 12) + "`."
		}
		return out
	}
	q := c.Question
	out := []string{fmt.Sprintf("### Question %s of %s: closed", q.ID, markdown.CodeSpan(q.Agent)), "", n.Quote(q.Text), ""}
	switch {
	case c.Withdrawn:
		out = append(out, "It needs no answer any more, since "+when+".")
	case c.Late:
		out = append(out, "There was no answer in time, by "+when+": the agent takes the safest reading and writes it down.")
	default:
		out = append(out, "Answered by "+n.Name(c.Actor)+" at "+when+".")
	}
	return strings.Join(out, "\n")
}

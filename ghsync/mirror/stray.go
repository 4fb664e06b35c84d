package mirror

import (
	"context"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// A stray is a comment of this session that its records do not ask for: a host that is gone made it after the checkpoint from
// which the session is continued. The next comment of its kind takes its place, so that nobody is told of one review
// round twice.
type stray struct {
	ID   int64  `json:"id"`
	On   int    `json:"on"`
	Kind string `json:"kind"`
	Seq  int    `json:"seq"`
	Part string `json:"part,omitempty"`
}

func (s stray) marker(session string) ghsync.Marker {
	return ghsync.Marker{Session: session, Kind: s.Kind, Seq: s.Seq, Part: s.Part}
}

// askedFor is a comment that the records ask for.
type askedFor struct {
	marker ghsync.Marker
	text   string // digest of the whole comment; empty: it is written
}

// asked are the comments that the records ask for, by key: those to be made, and the found ones that are known to be made.
func (p *poster) asked(found []ownComment) map[string]askedFor {
	all := map[string]askedFor{}
	for _, q := range p.queue {
		all[q.marker.Key()] = askedFor{q.marker, ghsync.HashOf(withMarker(q.body, q.marker).String())}
	}
	for _, c := range found {
		if key := c.marker.Key(); p.st.Comments[key] == c.id {
			all[key] = askedFor{marker: c.marker}
		}
	}
	return all
}

// stray notes a comment as one whose place another may take.
func (p *poster) stray(on int, c ownComment) {
	known := slices.ContainsFunc(p.st.Strays, func(s stray) bool { return s.ID == c.id })
	if c.mine && !known {
		p.st.Strays = append(p.st.Strays, stray{c.id, on, c.marker.Kind, c.marker.Seq, c.marker.Part})
	}
}

// put makes a comment, in the place of a stray if there is one, and returns its id; wait says that it must be looked for
// later. A kill between the edit of a stray and its note repeats the edit.
func (p *poster) put(ctx context.Context, want post) (id int64, wait time.Duration, err error) {
	for i := p.strayFor(want); i >= 0; i = p.strayFor(want) {
		id := p.st.Strays[i].ID
		err := p.o.Server.Comments.Edit(ctx, p.o.Repo, id, withMarker(want.body, want.marker))
		if err != nil && !transport.IsNotFound(err) {
			return 0, 0, err
		}
		p.st.Strays = slices.Delete(p.st.Strays, i, i+1)
		if err == nil {
			return id, 0, nil
		}
	}
	return p.ensure(ctx, want)
}

// strayFor returns which stray a comment takes the place of: that of its own marker, else the first of its kind; -1: none.
func (p *poster) strayFor(want post) int {
	alike := func(s stray) bool {
		is := s.marker(want.marker.Session)
		is.Seq = want.marker.Seq
		return s.On == want.on && (is.Part == "phase") == (want.marker.Part == "phase") && is.Same(want.marker)
	}
	exact := slices.IndexFunc(p.st.Strays, func(s stray) bool { return s.Seq == want.seq && alike(s) })
	if exact >= 0 {
		return exact
	}
	return slices.IndexFunc(p.st.Strays, alike)
}

// disown says in the strays whose place nothing took that they do not hold, when the session has ended.
func (m *Mirror) disown(ctx context.Context) (time.Duration, error) {
	if m.view.Live() || len(m.queue) > 0 {
		return 0, nil
	}
	for len(m.st.Strays) > 0 {
		s := m.st.Strays[0]
		if moved := m.view.Moved; moved.Host != "" && s.Seq >= moved.Seq { // else it was made in another mode of comments
			text := withMarker(markdown.Finish(m.o.Redactor, comment.Overtaken), s.marker(m.view.Identity.Public))
			err := m.o.Server.Comments.Edit(ctx, m.o.Repo, s.ID, text)
			if err != nil && !transport.IsNotFound(err) && !transport.HasCode(err, transport.CodeLocked) {
				return 0, err
			}
		}
		m.st.Strays = m.st.Strays[1:]
		if err := m.save(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

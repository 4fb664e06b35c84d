package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// post is one comment the records ask for.
type post struct {
	seq    int
	marker ghsync.Marker
	on     int // issue or pull request, as the records say
	body   string
}

// owe queues the comment a record asks for in this mode, rendered as the session was then.
func (m *Mirror) owe(e orchestrator.Event) {
	m.settings()
	kind, text := m.commentFor(e)
	if text == "" {
		return
	}
	p := post{seq: e.Seq, marker: ghsync.Marker{Session: m.view.mark, Kind: kind, Seq: e.Seq}, on: m.o.Issue}
	if kind == ghsync.KindStatus {
		p.marker.Part = "phase"
	}
	if kind == ghsync.KindVerdict && m.view.prNumber > 0 {
		p.on = m.view.prNumber
	}
	parts := markdown.Split(markdown.Valid(markdown.Redacted(m.o.Redactor, text)), markdown.MaxUnits, m.view.wholeText(kind))
	for i, part := range parts {
		piece := p
		if len(parts) > 1 {
			piece.marker.Part = fmt.Sprintf("%d/%d", i+1, len(parts))
		}
		piece.body = part
		m.queue = append(m.queue, piece)
	}
}

// wholeText names where a text can be read that is too long for comments.
func (v *view) wholeText(kind string) string {
	if r := v.round(); kind == ghsync.KindVerdict && r != nil {
		for _, role := range r.failedFirst() {
			if path := r.verdicts[role].path; path != "" {
				return markdown.CodeSpan(path)
			}
		}
	}
	return "the session directory"
}

func (m *Mirror) commentFor(e orchestrator.Event) (kind, text string) {
	switch d := e.Data.(type) {
	case orchestrator.PhaseEnteredRecord:
		if m.o.Mode == Every {
			return ghsync.KindStatus, renderPhase(m.view)
		}
	case orchestrator.EventRecord:
		r := m.view.round()
		decision := d.Event == orchestrator.LastReviewPassed || d.Event == orchestrator.LastReviewFailed
		if decision && r != nil && m.o.Mode != Quiet {
			return ghsync.KindVerdict, renderVerdict(m.view, r, m.n, m.readReview)
		}
	case orchestrator.QuestionAskedRecord:
		asked := m.view.asks.Questions
		return ghsync.KindQuestion, renderQuestion(m.view, asked[len(asked)-1], m.n, m.view.decided(e.TS), m.view.onTimeout == "park")
	case orchestrator.GateOpenedRecord:
		return ghsync.KindQuestion, renderGate(m.view, m.n, m.changes(), m.view.decided(e.TS))
	case orchestrator.NeedsHumanRecord, orchestrator.FailedRecord, orchestrator.CanceledRecord:
		return ghsync.KindFinal, renderFinal(m.view, m.n)
	case orchestrator.DoneRecord:
		if m.o.Mode != Quiet || m.view.outcome != orchestrator.OutcomeDone {
			return ghsync.KindFinal, renderFinal(m.view, m.n)
		}
	}
	return "", ""
}

// changes lists what the open gate asks about.
func (m *Mirror) changes() []string {
	if m.o.Changes == nil || m.view.digest == "" {
		return nil
	}
	return m.o.Changes(m.view.digest)
}

// readReview reads what a role handed in, from the bytes the host accepted.
func (m *Mirror) readReview(v verdict) review {
	if v.sha == "" {
		return review{missing: true}
	}
	checked, err := m.session.CheckArtifact("blobs/"+v.sha, decide.ArtifactReview)
	if err != nil || checked.Artifact.Review == nil {
		return review{missing: true}
	}
	out := review{summary: checked.Artifact.Review.Summary}
	for _, f := range checked.Artifact.Review.Findings {
		out.findings = append(out.findings, finding{
			severity: f.Severity, location: f.Location, issue: f.Issue, recommendation: f.Recommendation,
		})
	}
	return out
}

// comments makes the comments owed, in order, below the status: as long as that is owed,
// they wait.
func (m *Mirror) comments(ctx context.Context) (time.Duration, error) {
	if m.owesStatus() && !m.off[stepFirstStatus] {
		return 0, nil
	}
	for len(m.queue) > 0 && !m.ending() {
		p := m.queue[0]
		if p.on = m.place(p.on); p.on == 0 {
			m.queue = m.queue[1:] // what it would say is in the status, if there is one
			continue
		}
		if m.st.Comments[p.marker.Key()] == 0 {
			id, wait, err := m.ensure(ctx, p)
			if m.lockedBy(p.on, err) {
				return time.Millisecond, m.save() // the status may have to move first
			}
			if transport.HasCode(err, transport.CodeLocked) || transport.HasCode(err, transport.CodeValidation) || transport.HasCode(err, transport.CodeBodyTooLong) {
				m.o.Log.Error("comment refused", "session", m.view.session, "seq", p.seq, "err", m.o.Redactor.Redact(err.Error()))
				m.queue = m.queue[1:] // the next one may be taken
				continue
			}
			if err != nil || wait > 0 {
				return wait, err
			}
			m.st.Comments[p.marker.Key()] = id
		}
		m.queue = m.queue[1:]
		if err := m.save(); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// place is where a comment that belongs on an issue or a pull request can be made: there, or
// if that is locked on the other of the two. 0: on neither.
func (m *Mirror) place(on int) int {
	for _, on := range []int{on, m.o.Issue, m.view.prNumber} {
		if on != 0 && !m.lockedOn(on) {
			return on
		}
	}
	return 0
}

// lockedOn reports whether the issue or a pull request is known to take no comments.
func (m *Mirror) lockedOn(on int) bool {
	return m.st.Locked && on == m.o.Issue || on == m.st.LockedPR
}

// lockedBy notes that the issue or a pull request takes no comments, if that is what err
// says and news. Nobody can be asked only where the issue is locked.
func (m *Mirror) lockedBy(on int, err error) bool {
	if !transport.HasCode(err, transport.CodeLocked) || m.lockedOn(on) {
		return false
	}
	m.o.Log.Info("comments are locked", "session", m.view.session, "issue", on)
	if on != m.o.Issue {
		m.st.LockedPR = on
		return true
	}
	m.st.Locked = true
	m.mu.Lock()
	defer m.mu.Unlock()
	m.locked = true
	return true
}

// ensure makes one comment exist and returns its id; wait says that it must be looked for
// later. The intent is on disk before the request leaves, so a kill at any point is found
// out by a look at what stands on the issue.
func (m *Mirror) ensure(ctx context.Context, p post) (id int64, wait time.Duration, err error) {
	key := p.marker.Key()
	if in, ok := m.st.Intents[key]; ok {
		id, wait, err = m.lookFor(ctx, p, in)
		if id != 0 || wait > 0 || err != nil {
			return id, wait, err
		}
	}
	if m.o.Fence != nil {
		if err := m.o.Fence(ctx); err != nil {
			return 0, 0, fmt.Errorf("check the claim: %w", err)
		}
	}
	m.st.Intents[key] = intent{On: p.on, Digest: ghsync.HashOf(p.body)[:16], At: m.o.Now().UTC()}
	if err := m.save(); err != nil {
		return 0, 0, err
	}
	id, author, err := m.sink.CreateComment(ctx, p.on, withMarker(p.body, p.marker))
	if err != nil {
		return 0, 0, m.notCreated(key, err)
	}
	delete(m.st.Intents, key)
	m.author = author
	m.st.AuthorID = cmp.Or(author, m.st.AuthorID)
	m.o.Log.Info("comment made", "session", m.view.session, "kind", p.marker.Kind, "seq", p.seq, "issue", p.on)
	return id, 0, nil
}

// notCreated keeps the intent of what may have been applied and drops that of what was not.
func (m *Mirror) notCreated(key string, err error) error {
	var (
		after    *transport.RetryAfter
		terminal *transport.Terminal
		missing  *transport.NotFound
		unsent   *transport.Unsent
		moved    *transport.Moved
	)
	switch {
	case errors.As(err, &after), errors.As(err, &terminal), errors.As(err, &missing), errors.As(err, &unsent), errors.As(err, &moved):
		delete(m.st.Intents, key)
	default:
		m.st.Ambiguous++
	}
	return errors.Join(err, m.save())
}

// lookFor looks for the comment of an earlier try. Lists lag, so it looks twice before it
// lets the comment be made again.
func (m *Mirror) lookFor(ctx context.Context, p post, in intent) (id int64, wait time.Duration, err error) {
	if m.o.Client == nil {
		delete(m.st.Intents, p.marker.Key())
		return 0, 0, nil
	}
	due := in.At.Add(m.o.Pace.Look)
	if in.Looks > 0 {
		due = due.Add(m.o.Pace.Again)
	}
	if left := due.Sub(m.o.Now()); left > 0 {
		return 0, left, nil
	}
	found, err := m.ours(ctx, in.On, in.At.Add(-10*time.Minute))
	if err != nil {
		return 0, 0, err
	}
	key := p.marker.Key()
	for _, c := range found {
		if c.marker.Same(p.marker) {
			delete(m.st.Intents, key) // on disk only together with the id, which the caller keeps
			return c.id, 0, nil
		}
	}
	if in.Looks++; in.Looks < 2 {
		m.st.Intents[key] = in
		return 0, m.o.Pace.Again, m.save()
	}
	delete(m.st.Intents, key)
	m.st.Ambiguous++ // a list that lags longer hides it: the end looks once more
	return 0, 0, m.save()
}

// own is a comment of ours as it stands on GitHub.
type own struct {
	id     int64
	marker ghsync.Marker
}

// ours lists our comments of this session on an issue or pull request, oldest first: those
// of the present account, and of the one that an earlier token was of.
func (m *Mirror) ours(ctx context.Context, on int, since time.Time) ([]own, error) {
	if m.author == 0 {
		me, err := m.o.Client.Viewer(ctx)
		if _, again := transport.Later(err); err != nil && (again || m.st.AuthorID == 0) {
			return nil, err
		}
		m.author = cmp.Or(me.ID, m.st.AuthorID)
	}
	comments, err := m.o.Client.CommentsSince(ctx, m.o.Repo, on, since)
	if err != nil {
		return nil, err
	}
	var out []own
	for _, c := range comments {
		marker, ok := ghsync.ParseMarker(c.Body)
		written := c.Author.ID != 0 && (c.Author.ID == m.author || c.Author.ID == m.st.AuthorID)
		if ok && written && marker.Session == m.view.mark {
			out = append(out, own{id: c.ID, marker: marker})
		}
	}
	return out, nil
}

// withMarker puts the marker below a text. What could swallow it is kept apart from it by a
// blank line.
func withMarker(text string, marker ghsync.Marker) string {
	last := text[strings.LastIndex(text, "\n")+1:]
	gap := "\n"
	if marker.Kind == ghsync.KindStatus || strings.HasPrefix(last, "|") || strings.HasPrefix(last, "<") ||
		strings.HasPrefix(last, "`") || strings.HasPrefix(last, "~") || strings.HasPrefix(last, ">") {
		gap = "\n\n"
	}
	return text + gap + marker.String()
}

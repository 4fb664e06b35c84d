package mirror

import (
	"context"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// queueComment queues the comment that a record asks for in this mode. The text shows the
// session as it was then.
func (m *Mirror) queueComment(e orchestrator.Event) {
	m.settings()
	kind, text := m.commentFor(e)
	if text == "" {
		return
	}
	p := post{seq: e.Seq, marker: ghsync.Marker{Session: m.view.Identity.Public, Kind: kind, Seq: e.Seq}, on: m.o.Issue}
	if kind == ghsync.KindStatus {
		p.marker.Part = "phase"
	}
	if kind == ghsync.KindVerdict && m.view.Result.Pull > 0 {
		p.on = m.view.Result.Pull
	}
	var round *story.Round
	if kind == ghsync.KindVerdict {
		round = m.view.Reviews.Current()
	}
	parts := markdown.Split(markdown.Finish(m.o.Redactor, text), markdown.MaxUnits, comment.WholeText(round))
	for i, part := range parts {
		piece := p
		if len(parts) > 1 {
			piece.marker.Part = fmt.Sprintf("%d/%d", i+1, len(parts))
		}
		piece.body = part
		m.queue = append(m.queue, piece)
	}
}

func (m *Mirror) commentFor(e orchestrator.Event) (kind, text string) {
	switch d := e.Data.(type) {
	case orchestrator.PhaseEnteredRecord:
		if m.o.Mode == Every {
			return ghsync.KindStatus, m.view.PhaseText()
		}
	case orchestrator.EventRecord:
		r := m.view.Reviews.Current()
		decision := d.Event == orchestrator.LastReviewPassed || d.Event == orchestrator.LastReviewFailed
		if decision && r != nil && m.o.Mode != Quiet {
			return ghsync.KindVerdict, m.view.VerdictText(r, m.readReview)
		}
	case orchestrator.QuestionAskedRecord:
		asked := m.view.Asks.Questions
		return ghsync.KindQuestion, m.view.QuestionText(asked[len(asked)-1], e.TS)
	case orchestrator.GateOpenedRecord:
		return ghsync.KindQuestion, m.view.GateText(m.changes(), e.TS)
	case orchestrator.NeedsHumanRecord, orchestrator.FailedRecord, orchestrator.CanceledRecord:
		return ghsync.KindFinal, m.view.FinalText()
	case orchestrator.DoneRecord:
		if m.o.Mode != Quiet || m.view.End.Outcome != orchestrator.OutcomeDone {
			return ghsync.KindFinal, m.view.FinalText()
		}
	}
	return "", ""
}

// changes lists what the open gate asks about.
func (m *Mirror) changes() []string {
	if m.o.Changes == nil || m.view.Gate.Digest == "" {
		return nil
	}
	return m.o.Changes(m.view.Gate.Digest)
}

// readReview reads what a role handed in, from the bytes the host accepted.
func (m *Mirror) readReview(v story.Verdict) comment.Review {
	if v.SHA256 == "" {
		return comment.Review{Missing: true}
	}
	checked, err := m.session.CheckArtifact("blobs/"+v.SHA256, duty.ArtifactReview)
	if err != nil || checked.Artifact.Review == nil {
		return comment.Review{Missing: true}
	}
	out := comment.Review{Summary: checked.Artifact.Review.Summary}
	for _, f := range checked.Artifact.Review.Findings {
		out.Findings = append(out.Findings, comment.Finding{
			Severity: f.Severity, Location: f.Location, Issue: f.Issue, Recommendation: f.Recommendation,
		})
	}
	return out
}

// comments creates the queued comments in order. They wait for the status comment, which is
// above them.
func (m *Mirror) comments(ctx context.Context) (time.Duration, error) {
	if m.lacksStatus() && !m.off[stepFirstStatus] {
		return 0, nil
	}
	for len(m.queue) > 0 && !m.ending() {
		p := m.queue[0]
		if p.on = m.poster.place(p.on); p.on == 0 {
			m.queue = m.queue[1:] // what it would say is in the status, if there is one
			continue
		}
		if m.st.Comments[p.marker.Key()] == 0 {
			id, wait, err := m.poster.put(ctx, p)
			if m.poster.lockedBy(p.on, err) {
				return time.Millisecond, m.save() // the status may have to move first
			}
			if transport.HasCode(err, transport.CodeLocked) || transport.HasCode(err, transport.CodeValidation) || transport.HasCode(err, transport.CodeBodyTooLong) {
				m.o.Log.Error("comment refused", "session", m.view.Identity.Session, "seq", p.seq, "err", m.o.Redactor.Redact(err.Error()))
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

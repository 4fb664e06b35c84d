package ear

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// shownBefore returns the record of the gate that was shown last before the command was written, and its digest; ""
// if none was. Comments are numbered by the server, so of two comments the one that came first is
// known whatever the clocks say. A review has a number of another kind: there the times count.
func (j *judgement) shownBefore() (digest string, opened orchestrator.Event, err error) {
	sess, err := session.Open(j.s.Dir)
	if err != nil {
		return "", opened, err
	}
	records, err := sess.Follow(0).Read()
	if err != nil {
		return "", opened, err
	}
	for _, e := range records {
		gate, ok := e.Data.(orchestrator.GateOpenedRecord)
		if !ok {
			continue
		}
		before, err := j.isBefore(e)
		if err != nil {
			return "", opened, err
		}
		if before {
			digest, opened = gate.Digest, e
		}
	}
	return digest, opened, nil
}

// seen reports whether GitHub has the comment of a gate that another machine opened: of the program's account, of this
// session and that record, with that digest, and as it was before the command was written. Anybody who may push can have
// written what the session itself says of its comments.
func (j *judgement) seen(ctx context.Context, digest string, opened orchestrator.Event) (bool, error) {
	if j.state.Gate.Brought == 0 || !j.state.Shown() {
		return false, nil
	}
	id, err := mirror.CommentOf(j.s.Dir, opened.Seq)
	if err != nil || id == 0 {
		return false, err
	}
	all, err := j.listed(ctx, j.s, opened.TS.Add(-overlap))
	i := slices.IndexFunc(all, func(c ghsync.IssueComment) bool { return c.ID == id })
	if err != nil || i < 0 {
		return false, err
	}
	c := all[i].Comment
	ours, err := j.o.Client.Ours(ctx, c)
	if err != nil || !ours || !c.EditedAt.Before(j.w.written) {
		return false, err
	}
	m, _ := ghsync.ParseMarker(c.Body)
	of := m.Session == orchestrator.PublicID(j.state.SessionID, j.state.Identity) && m.Kind == ghsync.KindQuestion && m.Seq == opened.Seq
	return of && strings.Contains("\n"+string(c.Body), "\nDigest `"+orchestrator.ShortDigest(digest)+"`;"), nil
}

// isBefore reports whether a gate was shown before the command was written.
func (j *judgement) isBefore(opened orchestrator.Event) (bool, error) {
	shown := j.o.Now().Add(opened.TS.Sub(j.o.Local())) // by the clock of the server, whose times have no fractions of a second
	inTime := !shown.After(j.w.written.Add(time.Second))
	if !j.state.Shown() {
		return inTime, nil
	}
	id, err := mirror.CommentOf(j.s.Dir, opened.Seq)
	if err != nil || id == 0 {
		return false, err
	}
	if isReview(j.w.source) {
		return inTime, nil
	}
	return id < j.w.id, nil
}

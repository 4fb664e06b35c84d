package ear

import (
	"time"

	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// shownBefore returns the digest of the gate that was shown last before the command was written; ""
// if none was. Comments are numbered by the server, so of two comments the one that came first is
// known whatever the clocks say. A review has a number of another kind: there the times count.
func (j *judgement) shownBefore() (digest string, err error) {
	sess, err := session.Open(j.s.Dir)
	if err != nil {
		return "", err
	}
	records, err := sess.Follow(0).Read()
	if err != nil {
		return "", err
	}
	for _, e := range records {
		opened, ok := e.Data.(orchestrator.GateOpenedRecord)
		if !ok {
			continue
		}
		before, err := j.isBefore(e)
		if err != nil {
			return "", err
		}
		if before {
			digest = opened.Digest
		}
	}
	return digest, nil
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

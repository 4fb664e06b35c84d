package mirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// maxEdits is how often the status may change within an hour.
const maxEdits = 60

// statusText renders the status as it should be now.
func (m *Mirror) statusText() markdown.Text {
	m.settings()
	m.readNoted()
	m.view.Notes, m.view.Edited = nil, m.st.TextEdited
	if m.o.Notes != nil {
		m.view.Notes = m.o.Notes()
	}
	var folds []string
	if m.o.Mode == Quiet {
		for _, r := range m.view.Reviews.Decided() {
			folds = append(folds, comment.FoldVerdict(m.view.VerdictText(r, m.readReview)))
		}
	}
	return markdown.Finish(m.o.Redactor, m.view.StatusText(folds))
}

// readNoted takes in the notes about commands that never reached the session.
func (m *Mirror) readNoted() {
	for more := true; more; {
		var lines []orchestrator.Line
		var err error
		if lines, more, err = m.session.Lines(session.Commands, m.noted, 0); err != nil {
			m.o.Log.Warn("commands not read", "session", m.view.Identity.Session, "err", err)
			return
		}
		for _, l := range lines {
			if l.Rewound != nil { // another file
				m.view.Noted = nil
				continue
			}
			m.noted = l.Cursor
			m.view.Noted.Note(l, m.view.Agent)
		}
	}
}

// statusPlace is where the status comment belongs: where it is, else on the issue, else, if
// that is locked, on the pull request. 0: nowhere so far.
func (m *Mirror) statusPlace() int {
	if m.st.StatusCommentID != 0 {
		return m.st.StatusOn
	}
	return m.poster.place(m.o.Issue)
}

// lacksStatus reports whether there is a place for a status comment and none on it.
func (m *Mirror) lacksStatus() bool { return m.st.StatusCommentID == 0 && m.statusPlace() != 0 }

func (m *Mirror) statusMarker() ghsync.Marker {
	return ghsync.Marker{Session: m.view.Identity.Public, Kind: ghsync.KindStatus, Seq: m.view.Seq}
}

// firstStatus creates the status comment unless it exists. It waits as an edit does: what it
// says of a session that has just begun changes a moment later.
func (m *Mirror) firstStatus(ctx context.Context) (time.Duration, error) {
	if !m.lacksStatus() {
		return 0, nil
	}
	place := m.statusPlace()
	if wait := m.firstWait(); wait > 0 {
		return wait, nil
	}
	text := m.statusText()
	_, tried := m.st.Intents[m.statusMarker().Key()]
	id, wait, err := m.poster.ensure(ctx, post{seq: m.view.Seq, marker: m.statusMarker(), on: place, body: text})
	if m.poster.lockedBy(place, err) {
		return time.Millisecond, m.save() // there may be a pull request to put it on
	}
	if err != nil || wait > 0 {
		return wait, err
	}
	m.st.StatusCommentID, m.st.StatusOn, m.st.StatusDigest = id, place, ghsync.HashOf(text.String())
	if tried {
		m.st.StatusDigest = "" // what was found may have the text of an earlier try
	}
	m.edited()
	return 0, m.save()
}

// firstWait is how long the status comment may wait; a queued comment, which belongs below it,
// ends the wait.
func (m *Mirror) firstWait() time.Duration {
	if m.dirty.IsZero() || len(m.queue) > 0 {
		return 0
	}
	return m.editWait()
}

// status edits the status comment if it says something else now and the last edit is long
// enough ago.
func (m *Mirror) status(ctx context.Context) (time.Duration, error) {
	if m.st.StatusCommentID == 0 {
		return 0, nil
	}
	text := m.statusText()
	digest := ghsync.HashOf(text.String())
	if digest == m.st.StatusDigest {
		m.dirty = time.Time{}
		return 0, nil
	}
	if m.dirty.IsZero() {
		m.dirty = m.o.Now()
	}
	if wait := m.editWait(); wait > 0 {
		return wait, nil
	}
	err := m.o.Server.Comments.Edit(ctx, m.o.Repo, m.st.StatusCommentID, withMarker(text, m.statusMarker()))
	switch {
	case transport.IsNotFound(err):
		if err := m.places.deleted(ctx, err); err != nil {
			return 0, err
		}
		return m.notFound(err)
	case transport.HasCode(err, transport.CodeLocked):
		m.poster.lockedBy(cmp.Or(m.st.StatusOn, m.o.Issue), err)
		m.st.StatusCommentID = 0
		return time.Millisecond, m.save()
	case err != nil:
		return 0, err
	}
	m.st.StatusDigest, m.unseen = digest, 0
	m.edited()
	return 0, m.save()
}

// maxUnseen is how many edits in a row may not find the status comment: after the pauses of so many failures no list
// lags, and each comment that was made was removed at once, or may be read and not edited.
const maxUnseen = 5

// notFound has the status comment, whose edit was not found, looked for at the end of the pass, since a server that
// lags may still have it, and made again if it is not listed. The error is err once that was done often enough.
func (m *Mirror) notFound(err error) (time.Duration, error) {
	if m.unseen++; m.unseen >= maxUnseen {
		return 0, err
	}
	m.st.StatusCommentID = 0
	m.st.Ambiguous++
	if saved := m.save(); saved != nil || m.unseen == 1 {
		return time.Millisecond, saved
	}
	return 0, &transport.RetryAfter{Scope: "absence", Err: fmt.Errorf("the status: %s", err.Error())}
}

func (m *Mirror) edited() {
	m.dirty = time.Time{}
	m.edits = append(m.edits, m.o.Now())
}

// editWait is how long the status has to wait before its next edit.
func (m *Mirror) editWait() time.Duration {
	if m.finishing || !m.view.Live() {
		return 0
	}
	now := m.o.Now()
	m.edits = slices.DeleteFunc(m.edits, func(t time.Time) bool { return now.Sub(t) >= time.Hour })
	due := m.dirty.Add(m.debounce())
	if n := len(m.edits); n > 0 {
		between := m.o.Pace.Between
		if n >= 10 && now.Sub(m.edits[n-10]) < 10*time.Minute {
			between = m.o.Pace.Busy
		}
		due = latest(due, m.edits[n-1].Add(between))
		if n >= maxEdits {
			due = latest(due, m.edits[n-maxEdits].Add(time.Hour))
		}
	}
	return max(0, due.Sub(now))
}

// debounce is how long a change waits for others to be shown with it. In its last phase the host itself commits, pushes and
// opens the pull request, which takes a few writes: as a rule their end is the next change, and is shown without a wait.
func (m *Mirror) debounce() time.Duration {
	v := m.view.Visits.Current()
	if v == nil || v.Kind != "complete" || v.Left || m.view.Waits() || m.view.Paused {
		return m.o.Pace.Debounce
	}
	return max(m.o.Pace.Debounce, m.o.Pace.Between)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// recall finds the ids of the comments that an earlier mirror made, after mirror_state.json was
// lost or came from another host.
func (m *Mirror) recall(ctx context.Context) error {
	if err := m.poster.findTwins(ctx); err != nil {
		return err
	}
	m.rebuild, m.st.Host = false, m.o.Host
	m.st.StatusDigest = m.poster.listed // a host that is gone may have written more than it could tell
	return m.save()
}

// twins looks once more at the end if the fate of a creation was unknown: a lagging list has
// caught up by then.
func (m *Mirror) twins(ctx context.Context) (time.Duration, error) {
	if m.st.Ambiguous == 0 || m.view.Live() || len(m.queue) > 0 || len(m.st.Intents) > 0 {
		return 0, nil
	}
	if err := m.poster.findTwins(ctx); err != nil {
		return 0, err
	}
	m.st.Ambiguous = 0
	if m.st.StatusCommentID != 0 && m.st.StatusDigest == "" {
		return time.Millisecond, m.save() // the one that stays may have an older text
	}
	return 0, m.save()
}

// verdictOnCommit puts the review's result on the pushed commit, with a link to the status
// comment, for which it waits. The verdict of a later round belongs to a later commit, and the
// server knows that only after its push.
func (m *Mirror) verdictOnCommit(ctx context.Context) (time.Duration, error) {
	if !m.view.Result.Pushed || m.view.Result.Head == "" || m.view.Result.Head != m.view.Result.Commit {
		return 0, nil
	}
	if m.lacksStatus() && !m.off[stepFirstStatus] {
		return 0, nil
	}
	state, err := m.session.ReadState()
	if err != nil || state.Completion.Commit != m.view.Result.Head {
		return 0, nil // the next commit gets its verdict
	}
	result, text := commitVerdict(state)
	want := commitStatus{SHA: m.view.Result.Head, State: result}
	if result == "" || m.st.CommitStatus != nil && *m.st.CommitStatus == want {
		return 0, nil
	}
	target := ""
	if m.st.StatusCommentID != 0 {
		target = fmt.Sprintf("%s/%s/issues/%d#issuecomment-%d", m.o.Server.Place.Server(), m.o.Repo, m.st.StatusOn, m.st.StatusCommentID)
	}
	if err := m.o.Server.Verdicts.CommitStatus(ctx, m.o.Repo, want.SHA, result, text, target); err != nil {
		if _, later := transport.Later(err); later {
			return 0, err
		}
		if transport.HasCode(err, transport.CodeNoCommit) && m.view.Result.Pull == 0 && m.view.End.At.IsZero() {
			return 0, nil // of a fork: its commits are known here once there is a pull request
		}
		m.o.Log.Warn("no commit status", "session", m.view.Identity.Session, "err", m.o.Redactor.Redact(err.Error()))
	}
	m.st.CommitStatus = &want
	return 0, m.save()
}

// commitVerdict is success only if every role passed exactly the tree that was pushed.
func commitVerdict(s *orchestrator.State) (ghsync.CommitState, string) {
	if len(s.ReviewResults) == 0 {
		return "", ""
	}
	current := true
	for _, r := range s.ReviewResults {
		if r.Verdict == "fail" {
			return ghsync.CommitFailure, "a reviewer wants changes"
		}
		current = current && r.Tree == s.Completion.Tree
	}
	if current {
		return ghsync.CommitSuccess, fmt.Sprintf("passed by %s", markdown.Count(len(s.ReviewResults), "reviewer", "reviewers"))
	}
	return ghsync.CommitPending, "passed before the last change"
}

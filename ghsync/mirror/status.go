package mirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
)

// maxEdits is how often the status may change within an hour.
const maxEdits = 60

// statusText renders the status as it should be now.
func (m *Mirror) statusText() string {
	m.settings()
	m.view.notes, m.view.edited = nil, m.st.TextEdited
	if m.o.Notes != nil {
		m.view.notes = m.o.Notes()
	}
	var folds []string
	if m.o.Mode == Quiet {
		for _, r := range m.view.roundsOf() {
			folds = append(folds, foldRound(renderVerdict(m.view, r, m.n, m.readReview)))
		}
	}
	return markdown.Valid(markdown.Redacted(m.o.Redactor, renderStatus(m.view, m.n, folds)))
}

// noteText notes when the issue's text was first seen to be another than the session's.
func (m *Mirror) noteText(issue ghsync.Issue) {
	switch {
	case m.snapshot == nil || m.snapshot.Raw.Title == "":
	case !m.snapshot.Edited(issue.Title, issue.Body):
		m.st.TextEdited = nil
	case m.st.TextEdited == nil:
		now := m.o.Now().UTC()
		m.st.TextEdited = &now
	}
}

// statusPlace is where the status comment belongs: where it is, else on the issue, else, if
// that is locked, on the pull request. 0: nowhere so far.
func (m *Mirror) statusPlace() int {
	if m.st.StatusCommentID != 0 {
		return m.st.StatusOn
	}
	return m.place(m.o.Issue)
}

// owesStatus reports whether there is a place for a status comment and none on it.
func (m *Mirror) owesStatus() bool { return m.st.StatusCommentID == 0 && m.statusPlace() != 0 }

func (m *Mirror) statusMarker() ghsync.Marker {
	return ghsync.Marker{Session: m.view.mark, Kind: ghsync.KindStatus, Seq: m.view.seq}
}

// firstStatus makes the status comment where there is none. It waits as an edit does: a
// session that has just begun is at work a moment later.
func (m *Mirror) firstStatus(ctx context.Context) (time.Duration, error) {
	if !m.owesStatus() {
		return 0, nil
	}
	place := m.statusPlace()
	if wait := m.firstWait(); wait > 0 {
		return wait, nil
	}
	text := m.statusText()
	_, tried := m.st.Intents[m.statusMarker().Key()]
	id, wait, err := m.ensure(ctx, post{seq: m.view.seq, marker: m.statusMarker(), on: place, body: text})
	if m.lockedBy(place, err) {
		return time.Millisecond, m.save() // there may be a pull request to put it on
	}
	if err != nil || wait > 0 {
		return wait, err
	}
	m.st.StatusCommentID, m.st.StatusOn, m.st.StatusDigest = id, place, ghsync.HashOf(text)
	if tried {
		m.st.StatusDigest = "" // what was found may say what was true at an earlier try
	}
	m.edited()
	return 0, m.save()
}

// firstWait is how long the status comment may wait; a comment that is to stand below it
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
	digest := ghsync.HashOf(text)
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
	err := m.sink.EditComment(ctx, m.st.StatusCommentID, withMarker(text, m.statusMarker()))
	switch {
	case transport.IsNotFound(err):
		if err := m.deleted(ctx, err); err != nil {
			return 0, err
		}
		m.st.StatusCommentID = 0
		m.st.Ambiguous++ // a server that lags may still have it
		return time.Millisecond, m.save()
	case transport.HasCode(err, transport.CodeLocked):
		m.lockedBy(cmp.Or(m.st.StatusOn, m.o.Issue), err)
		m.st.StatusCommentID = 0
		return time.Millisecond, m.save()
	case err != nil:
		return 0, err
	}
	m.st.StatusDigest = digest
	m.edited()
	return 0, m.save()
}

func (m *Mirror) edited() {
	m.dirty = time.Time{}
	m.edits = append(m.edits, m.o.Now())
}

// editWait is how long the status has to wait before its next edit.
func (m *Mirror) editWait() time.Duration {
	if m.finishing || !m.view.live() {
		return 0
	}
	now := m.o.Now()
	m.edits = slices.DeleteFunc(m.edits, func(t time.Time) bool { return now.Sub(t) >= time.Hour })
	due := m.dirty.Add(m.o.Pace.Debounce)
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

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// findOurs finds the ids of comments an earlier mirror made, after its memory was lost or
// came from another host.
func (m *Mirror) findOurs(ctx context.Context) error {
	if m.o.Client == nil {
		m.rebuild = false
		return nil
	}
	if err := m.findTwins(ctx); err != nil {
		return err
	}
	m.rebuild = false
	return m.save()
}

// adopt takes over the first comment of each key and deletes its twins.
func (m *Mirror) adopt(ctx context.Context, on int, found []own) error {
	seen := map[string]int64{}
	for _, c := range found {
		key := c.marker.Key()
		if first, ok := seen[key]; ok && first != c.id {
			if err := m.sink.DeleteComment(ctx, c.id); err != nil {
				return err
			}
			continue
		}
		seen[key] = c.id
		delete(m.st.Intents, key)
		if key != ghsync.KindStatus {
			m.st.Comments[key] = c.id
			continue
		}
		if m.st.StatusCommentID != c.id {
			m.st.StatusCommentID, m.st.StatusOn, m.st.StatusDigest = c.id, on, ""
		}
	}
	return nil
}

// twins looks once more at the end if some creation was of unknown fate: what a lagging
// list hid then is there now.
func (m *Mirror) twins(ctx context.Context) (time.Duration, error) {
	if m.st.Ambiguous == 0 || m.view.live() || m.o.Client == nil || len(m.queue) > 0 || len(m.st.Intents) > 0 {
		return 0, nil
	}
	if err := m.findTwins(ctx); err != nil {
		return 0, err
	}
	m.st.Ambiguous = 0
	if m.st.StatusCommentID != 0 && m.st.StatusDigest == "" {
		return time.Millisecond, m.save() // the one that stays may say what was true before
	}
	return 0, m.save()
}

// findTwins takes over what stands on the issue and on the pull request.
func (m *Mirror) findTwins(ctx context.Context) error {
	places := []int{m.o.Issue}
	if m.view.prNumber > 0 {
		places = append(places, m.view.prNumber)
	}
	for _, on := range places {
		found, err := m.ours(ctx, on, m.view.started.Add(-10*time.Minute))
		if transport.IsNotFound(err) {
			if err := m.deleted(ctx, err); err != nil {
				return err
			}
			continue // and our comments with it
		}
		if err != nil {
			return err
		}
		if err := m.adopt(ctx, on, found); err != nil {
			return err
		}
	}
	return nil
}

// verdictOnCommit puts the review's result on the pushed commit, with a link to the status
// comment: as long as that is owed, it waits. What a later round thinks belongs to a commit
// that is still to come, and the server knows none before its push.
func (m *Mirror) verdictOnCommit(ctx context.Context) (time.Duration, error) {
	if !m.view.pushed || m.view.head == "" || m.view.head != m.view.commit || m.o.Client == nil || m.o.Sink != nil {
		return 0, nil
	}
	if m.owesStatus() && !m.off[stepFirstStatus] {
		return 0, nil
	}
	state, err := m.session.ReadState()
	if err != nil || state.Completion.Commit != m.view.head {
		return 0, nil // the next commit brings another chance
	}
	result, text := commitVerdict(state)
	want := commitStatus{SHA: m.view.head, State: result}
	if result == "" || m.st.CommitStatus != nil && *m.st.CommitStatus == want {
		return 0, nil
	}
	target := ""
	if m.st.StatusCommentID != 0 {
		target = fmt.Sprintf("%s/%s/issues/%d#issuecomment-%d", m.o.Client.Server(), m.o.Repo, m.st.StatusOn, m.st.StatusCommentID)
	}
	if err := m.o.Client.CommitStatus(ctx, m.o.Repo, want.SHA, result, text, target); err != nil {
		if _, again := transport.Later(err); again {
			return 0, err
		}
		if transport.HasCode(err, transport.CodeNoCommit) && m.view.prNumber == 0 && m.view.ended.IsZero() {
			return 0, nil // of a fork: its commits are known here with the pull request
		}
		m.o.Log.Warn("no commit status", "session", m.view.session, "err", m.o.Redactor.Redact(err.Error()))
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

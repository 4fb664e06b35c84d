package ghsync

import (
	"slices"
	"time"
)

// LateEdit is a change of an issue's text after work on it was asked for. The requester did
// not see the new text.
type LateEdit struct {
	At     time.Time
	Editor Account // zero if the server does not say, or the account is deleted
}

// LateEdits are the changes of title and body since a moment, oldest first. known is false
// where the server does not tell who edits a body and the issue did change since.
func (r Record) LateEdits(since time.Time) (edits []LateEdit, known bool) {
	late := func(at time.Time) bool { return !at.Before(since) && !at.Equal(r.Issue.CreatedAt) }
	for _, e := range r.Renames {
		if late(e.At) {
			edits = append(edits, LateEdit{At: e.At, Editor: e.Actor})
		}
	}
	for _, e := range r.BodyEdits {
		if late(e.At) {
			edits = append(edits, LateEdit(e))
		}
	}
	slices.SortStableFunc(edits, func(a, b LateEdit) int { return a.At.Compare(b.At) })
	return edits, r.EditorsKnown || !r.Issue.UpdatedAt.After(since)
}

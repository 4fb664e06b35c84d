package mirror

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Ticket is a request that waits for its session: the session it becomes, and its text.
type Ticket struct {
	Session  string // name
	Identity string // of the session, see orchestrator.PublicID
	Began    time.Time
	Snapshot *ghsync.Snapshot // nil: nothing is told of it
	Taken    bool             // from another host, which may have made the comment
	Begun    bool             // it was a session already, on a host that is gone
	Follower string           // public id of the session that follows one that had begun
	// Found says that an earlier process made the ticket, and may have been killed before it noted that the request labels were off.
	Found bool
	// Off takes the request labels off that were set by the time the ticket was asked for. A newer one asks for something new.
	// nil: all go.
	Off func(ctx context.Context) error
}

// A Placard is the status comment of a ticket, and its label. It keeps what it did in a file of
// the form of mirror_state.json. The session that the ticket becomes gets the file, and its
// mirror continues with the same comment.
//
// It makes the same promises as a [Mirror]. It is used by one goroutine at a time.
type Placard struct {
	*ledger
	poster *poster
	labels *labeler
	waits  time.Duration // between two edits that only move the place
	begun  bool          // on a host that is gone
	found  bool
	off    func(context.Context) error

	follower string

	edited time.Time
	shown  comment.Waiting
}

// placardPause is how long the place in the queue may be an old one.
const placardPause = 5 * time.Minute

// OpenPlacard reads what an earlier process left in file. It sends nothing. Of o, Dir and Mode
// are not used.
func OpenPlacard(o Options, file string, t Ticket) (*Placard, error) {
	st, found, err := readLedger(file)
	if err != nil {
		return nil, err
	}
	if t.Taken && !found {
		st.Intents[ghsync.KindStatus] = intent{On: o.Issue, At: t.Began}
	}
	o.Pace = o.Pace.withDefaults()
	o.Label = cmp.Or(o.Label, "agentmux")
	if o.Redactor == nil {
		o.Redactor = redact.New()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Guard != nil {
		o.Server, t.Off = o.Server.guarded(o.Guard), guard(o.Guard).before(t.Off)
	}
	if known, ok := st.remembered(o.RepoID); ok {
		o.Repo = known
	}
	k := &ledger{o: o, file: file, st: st, keep: durable.Replace, off: map[string]bool{}, locked: st.Locked}
	n := markdown.New(o.Server.Place.Server(), o.LinkHosts)
	n.Redact = o.Redactor.Redact
	progress := &story.Progress{Identity: story.Identity{
		Session: t.Session, Public: orchestrator.PublicID(t.Session, t.Identity), Repo: o.Repo.String(), Issue: o.Issue, Started: t.Began,
	}}
	k.view = comment.New(progress, comment.Facts{Host: o.Host, Sandbox: o.Sandbox, Deaf: o.Deaf, DeafAfter: o.DeafAfter}, n)
	if t.Snapshot != nil && !t.Begun {
		k.show(t.Snapshot)
	}
	st.Repo, st.RepoID, st.Issue, st.Host = o.Repo.String(), o.RepoID, o.Issue, o.Host
	places := &locator{ledger: k}
	return &Placard{ledger: k, poster: &poster{ledger: k, places: places}, labels: &labeler{ledger: k}, waits: placardPause, begun: t.Begun, found: t.Found, off: t.Off, follower: t.Follower}, nil
}

// Show makes the comment say what the ticket waits for, and the issue carry the label: that of the queue, or
// that of a session if the ticket has a slot before it was ever in the queue. next is
// when to call it again at the latest, 0 if all is shown. A lock of the issue is no error: then
// the label alone tells. The error is ErrIssueGone once the issue is known to be deleted or transferred.
func (p *Placard) Show(ctx context.Context, w comment.Waiting) (next time.Duration, err error) {
	want := ghsync.LabelQueued
	if w.Slot && p.st.Label != want { // else the mirror of the session changes it
		want = ghsync.LabelRunning
	}
	next, err = p.comment(ctx, w)
	switch {
	case err != nil:
	case p.st.Label != want:
		err = p.setLabels(ctx, want, p.found)
	case p.st.LabelUnsure:
		err = p.labels.setLabels(ctx, want, false)
	}
	if err != nil {
		return 0, p.poster.places.relocate(ctx, err)
	}
	return next, nil
}

// setLabels has the issue carry a label. The first time the request labels go; asked: only those of the ticket do.
func (p *Placard) setLabels(ctx context.Context, want string, asked bool) error {
	first := p.st.Label == ""
	if asked = asked && p.off != nil; first && asked {
		if err := p.off(ctx); err != nil {
			return err
		}
	}
	return p.labels.setLabels(ctx, want, first && !asked)
}

// Drop says how the ticket ended without a session, and takes the labels off. A request label that was set after those of
// the ticket were taken off stays: who reads how it ended may ask at once for something new.
func (p *Placard) Drop(ctx context.Context, why string) (next time.Duration, err error) {
	next, err = p.comment(ctx, comment.Waiting{Dropped: why, Begun: p.begun})
	if err == nil && next == 0 {
		err = p.setLabels(ctx, labelNone, true)
	}
	if err != nil {
		return 0, p.poster.places.relocate(ctx, err)
	}
	return next, nil
}

// End has the comment of a session that was lost say why, if there is one, with the marker of the
// session that follows it and has the issue now. The labels are that one's.
func (p *Placard) End(ctx context.Context, why string) (next time.Duration, err error) {
	former := ghsync.Marker{Session: p.view.Identity.Public, Kind: ghsync.KindStatus}
	if p.st.StatusCommentID == 0 {
		in, ok := p.st.Intents[former.Key()]
		if !ok {
			return 0, nil
		}
		id, wait, err := p.poster.lookFor(ctx, post{marker: former, on: p.o.Issue}, in)
		if err != nil || id == 0 {
			return wait, p.poster.places.relocate(ctx, err)
		}
		p.st.StatusCommentID, p.st.StatusOn = id, p.o.Issue
	}
	w := comment.Waiting{Dropped: why, Begun: true}
	next, err = p.edit(ctx, w, markdown.Finish(p.o.Redactor, p.view.QueueText(w)), ghsync.Marker{Session: p.follower, Kind: ghsync.KindStatus, Part: "former"})
	return next, p.poster.places.relocate(ctx, err)
}

// comment creates the comment, or edits it if it says something else by now.
func (p *Placard) comment(ctx context.Context, w comment.Waiting) (next time.Duration, err error) {
	if p.st.Locked {
		return 0, nil
	}
	text := markdown.Finish(p.o.Redactor, p.view.QueueText(w))
	digest := ghsync.HashOf(text.String())
	marker := ghsync.Marker{Session: p.view.Identity.Public, Kind: ghsync.KindStatus}
	if p.st.StatusCommentID == 0 {
		_, tried := p.st.Intents[marker.Key()]
		id, wait, err := p.poster.ensure(ctx, post{marker: marker, on: p.o.Issue, body: text})
		if p.poster.lockedBy(p.o.Issue, err) {
			return 0, p.save()
		}
		if err != nil || wait > 0 {
			return wait, err
		}
		p.st.StatusCommentID, p.st.StatusOn = id, p.o.Issue
		if !tried { // what was found may have the text of an earlier try
			p.st.StatusDigest, p.edited, p.shown = digest, p.o.Now(), w
		}
		if err := p.save(); err != nil {
			return 0, err
		}
	}
	return p.edit(ctx, w, text, marker)
}

// edit has the comment say something else.
func (p *Placard) edit(ctx context.Context, w comment.Waiting, text markdown.Text, marker ghsync.Marker) (next time.Duration, err error) {
	digest := ghsync.HashOf(text.String())
	if p.st.StatusDigest == digest {
		return 0, nil
	}
	if left := p.waits - p.o.Now().Sub(p.edited); left > 0 && w.MovedOnly(p.shown) {
		return left, nil
	}
	if err := p.o.Server.Comments.Edit(ctx, p.o.Repo, p.st.StatusCommentID, text.Below("\n\n"+marker.String())); transport.IsNotFound(err) {
		if err := p.poster.places.deleted(ctx, err); err != nil {
			return 0, err
		}
		p.st.StatusCommentID = 0 // it was deleted, and is made again
		return time.Millisecond, p.save()
	} else if p.poster.lockedBy(p.st.StatusOn, err) { // after it was made: the label alone tells from now on
		return 0, p.save()
	} else if err != nil {
		return 0, err
	}
	p.st.StatusDigest, p.edited, p.shown = digest, p.o.Now(), w
	return 0, p.save()
}

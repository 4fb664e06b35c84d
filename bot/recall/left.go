package recall

import (
	"context"
	"errors"
	"slices"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/follow"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Left finds out what a person said to a session, for which a host that is gone has claimed its issue, and whether the
// session got it. A session that is under way is judged by what it was asked for at first if that is not there any more.
// record is a reading of the issue. The answer is in q, which may be nil.
func (r Reviews) Left(ctx context.Context, q *orphan.Request, record ghsync.Record) error {
	if q == nil || !q.Saved || q.Trigger.Kind != gate.Comment && q.Trigger.Kind != gate.Review {
		return nil
	}
	f, _, err := r.Saved(ctx, Pull{Issue: q.Seen.Issue, Session: q.Seen.Claim.Session})
	if errors.Is(err, checkpoint.ErrNone) || errors.As(err, new(*checkpoint.RefusedError)) {
		return nil // who takes it tells that
	}
	if err != nil {
		return err
	}
	s, err := orchestrator.Decode(f.Session[session.StateFile])
	if err != nil {
		return err
	}
	// By the comment that asks for another try the session began.
	q.Said.Pull = s.Completion.PRNumber
	q.Said.Unheard = s.Ended() && q.Trigger.String() != string(s.Trigger) && !follow.PastIn(f.Session[session.Commands]).Said[q.Trigger.String()]
	if err := r.find(ctx, q, record); err != nil {
		return err
	}
	if q.Said.Ask != nil || q.Said.Unheard {
		return nil
	}
	if first, err := gate.ParseTrigger(string(s.Trigger)); err == nil {
		q.Trigger = first
	}
	return nil
}

// over finds out whether a claim was left for a review that wants nothing any more.
func (r Reviews) over(ctx context.Context, w *Wanted) error {
	_, left, err := r.Claims.Holder(ctx, w.Issue)
	if err != nil || left == nil || left.Trigger.Kind != gate.Review || left.Seen.Claim.Session != w.Session {
		return err
	}
	if err := r.Left(ctx, left, ghsync.Record{}); err != nil || !left.Said.Unheard {
		return err
	}
	w.Over = left.Trigger.ID
	if left.Said.Ask != nil {
		w.By = left.Said.Ask.By.Login
	}
	return nil
}

// Tell has the session in dir say, in its list of commands, that the review of Over leads to nothing.
func (w Wanted) Tell(dir string) error {
	_, err := command.Note(dir, orchestrator.Payload{
		Name: "changes", Actor: w.By, Source: "issue", SourceID: follow.ReviewSource(w.Over), State: orchestrator.NoteRefused,
		Reason: "the host that took it is gone, and no round follows from it any more",
	})
	return err
}

// find looks for the comment or the review on the issue and on the pull request.
func (r Reviews) find(ctx context.Context, q *orphan.Request, record ghsync.Record) error {
	switch {
	case q.Trigger.Kind == gate.Review && q.Said.Pull == 0:
		return nil
	case q.Trigger.Kind == gate.Review:
		all, err := (ghsync.Intake{Client: r.Client}).Reviews(ctx, r.Repo, q.Said.Pull)
		if i := slices.IndexFunc(all, func(v ghsync.Review) bool { return v.ID == q.Trigger.ID }); i >= 0 {
			q.Said.Ask = &gate.Ask{Trigger: q.Trigger, By: all[i].Author, At: all[i].SubmittedAt}
		}
		return unlessGone(err)
	}
	on, all := q.Seen.Issue, record.Comments
	is := func(c ghsync.Comment) bool { return c.ID == q.Trigger.ID }
	i := slices.IndexFunc(all, is)
	if i < 0 && q.Said.Pull != 0 {
		var err error
		on = q.Said.Pull
		all, err = ghsync.Comments{Client: r.Client}.Since(ctx, r.Repo, on, q.Seen.Claim.At.Add(-maxAge-clockSlack))
		if i = slices.IndexFunc(all, is); unlessGone(err) != nil {
			return err
		}
	}
	if i >= 0 {
		q.Said.Ask = &gate.Ask{Trigger: q.Trigger, By: all[i].Author, At: all[i].CreatedAt}
		q.Said.Comment = &ghsync.IssueComment{Comment: all[i], On: on}
		q.Said.Comment.Reacted = true // it may have a receipt
	}
	return nil
}

func unlessGone(err error) error {
	if transport.IsNotFound(err) {
		return nil
	}
	return err
}

// Free gives a claim back that a host left for what a person said and that leads to nothing.
func (r Recaller) Free(ctx context.Context, left *orphan.Request) error {
	was := left.Seen.Claim
	held, err := r.Claims.Take(ctx, claim.Want{Issue: left.Seen.Issue, Session: was.Session, Trigger: was.Trigger, State: was.State}, left)
	if errors.As(err, new(*claim.TakenError)) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Log.Info("a claim that leads to nothing is given back", "issue", left.Seen.Issue, "session", was.Session, "trigger", was.Trigger)
	return release(ctx, held)
}

package bot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/agentmux/agentmux/bot/again"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/recall"
	"github.com/agentmux/agentmux/ghsync"
)

// owner is what the ear of a repository asks of the bot.
type owner struct{ *repository }

// Find returns the ticket or the newest session of an issue, or the session of a pull request.
func (o owner) Find(ctx context.Context, number int, pull bool) (ear.Subject, error) {
	issue, of := number, recall.Pull{}
	switch h := o.sessions.ofPull(number); {
	case pull && h != nil:
		issue = h.issue
	case pull && number == o.bot.Pull: // of a session that was on another machine
		issue = o.bot.Issue
	case pull && o.bot.Issue != 0:
		return ear.Subject{}, nil
	case pull:
		var err error
		if of, err = o.others.Of(ctx, o.name(), number); err != nil || of.Issue == 0 {
			return ear.Subject{}, err
		}
		issue = of.Issue
	}
	s := ear.Subject{Issue: issue, Of: of.Session}
	holder, left, err := o.claimed(ctx, issue)
	if err != nil {
		return s, err
	}
	s.Left, s.Lost = left != nil, left != nil && left.Begun && o.sessions.of(issue) == nil && (s.Of == "" || s.Of == left.Seen.Claim.Session)
	if holder != "" && holder != o.bot.host {
		s.Holder = holder.String()
	}
	if h := o.sessions.of(issue); h != nil {
		s.Other = s.Of != "" && s.Of != h.public()
		s.Dir, s.Pull, s.Since = h.dir, h.state.Load().Completion.PRNumber, h.asked
		s.Open = o.sessions.pulls.IsOpen(s.Pull)
	}
	t, err := o.shelf.Read(issue)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, o.lookout.Unread(issue)
	case err != nil:
		return s, err
	}
	s.Ticket, s.Saved, s.Since = true, t.Saved, t.Requested
	return s, nil
}

// Wake runs the session in a directory if nothing does.
func (o owner) Wake(_ context.Context, s ear.Subject) error {
	if h := o.sessions.of(s.Issue); h != nil && h.dir == s.Dir {
		h.wake()
	}
	return nil
}

// recall has the session of an issue here that another machine had last, for a command in a comment.
func (o owner) recall(ctx context.Context, s ear.Subject, by gate.Trigger) (ear.Subject, error) {
	o.judging.Lock()
	defer o.judging.Unlock()
	h, err := o.brought(ctx, recall.Asked{Issue: s.Issue, By: by, Of: s.Of, Retry: s.Retry}, o.recaller())
	var taken *claim.TakenError
	if errors.As(err, &taken) {
		s.Holder = taken.Seen.Claim.Host.String()
		return s, nil
	}
	if err != nil || h == nil {
		return s, err
	}
	return o.Find(ctx, s.Issue, false)
}

// brought returns the session that by has made here, with its claim, in the place of the one that was here; nil: it made none.
func (r *repository) brought(ctx context.Context, a recall.Asked, by recall.Bringer) (*hosted, error) {
	former := r.sessions.of(a.Issue)
	if former != nil {
		a.Here, a.Newer = former.public(), former.overtaken
	}
	dir, held, err := by.Session(ctx, a)
	if err != nil || dir == "" {
		return nil, err
	}
	if former != nil {
		r.sessions.forget([]string{former.dir})
	}
	h, err := r.made(dir)
	if err != nil {
		return nil, errors.Join(err, held.Release(ctx))
	}
	h.hold(held)
	return h, nil
}

// again has the session of an issue go on for a request label, here or from its checkpoint, and reports whether it does.
func (r *repository) again(ctx context.Context, record ghsync.Record, d *gate.Decision, now *ghsync.Snapshot) (goesOn bool, err error) {
	l := &recall.Label{Recaller: r.recaller(), Of: r.saved, Record: record, Decision: d, Now: now}
	if _, err := r.brought(ctx, recall.Asked{Issue: now.Issue, By: d.Asked.Trigger}, l); err != nil || l.Over {
		return false, err
	}
	h := r.sessions.of(now.Issue)
	if h == nil || h.live() {
		return false, nil
	}
	goesOn, err = again.Former{Dir: h.dir, State: h.state.Load(), Elsewhere: h.overtaken}.Continue(ctx, r.journal, d, now)
	if held := h.claim(); goesOn {
		h.wake()
	} else if held != nil { // it was brought, and is not continued
		h.hold(nil)
		err = errors.Join(err, held.Release(ctx))
	}
	return goesOn, err
}

// recaller brings sessions of the repository here.
func (r *repository) recaller() recall.Recaller {
	return recall.Recaller{
		Claims: r.lookout, Saved: r.saved.Saved, Unfinished: r.saved.Unfinished, Continue: r.saved.Continue, Log: r.log(),
		Record: func(ctx context.Context, issue int) (ghsync.Record, error) {
			return r.server.Record(ctx, r.name(), issue)
		},
		Believes: recall.Believes(r.own, r.permission),
	}
}

// permission reads what an account may do.
func (r *repository) permission(ctx context.Context, login string) (ghsync.Permission, error) {
	return r.server.CurrentPermission(ctx, r.name(), login)
}

// Drop takes a ticket out of the queue, or ends what a host left that is gone.
func (o owner) Drop(ctx context.Context, s ear.Subject, by ghsync.Account, at time.Time) error {
	why := fmt.Sprintf("@%s stopped it", by.Login)
	if dropped, err := o.dropTicket(s.Issue, why, at); dropped || err != nil || !s.Lost {
		return err
	}
	o.judging.Lock()
	defer o.judging.Unlock()
	_, left, err := o.claimed(ctx, s.Issue)
	if err != nil || left == nil {
		return err
	}
	return o.forsake(ctx, left, gate.Decision{Reason: why})
}

// Retry passes a request in a comment to the gate.
func (o owner) Retry(ctx context.Context, s ear.Subject, r ear.Retry) (gate.Decision, error) {
	o.judging.Lock()
	defer o.judging.Unlock()
	if _, err := o.shelf.Read(s.Issue); err == nil {
		return gate.Decision{Row: gate.RowStart, What: gate.Queue}, nil // an earlier process did it
	}
	former := o.sessions.of(s.Issue)
	if former != nil && string(former.state.Load().Trigger) == r.Trigger.String() {
		return gate.Decision{Row: gate.RowStart, What: gate.Queue}, nil
	}
	record, readErr := o.server.Record(ctx, o.name(), s.Issue)
	facts, left, err := o.facts(ctx, s.Issue, record, readErr)
	if err != nil {
		return gate.Decision{}, err
	}
	facts.Ask = &gate.Ask{Trigger: r.Trigger, By: r.By, At: r.At}
	d := gate.Decide(ctx, facts, o.server)
	if !d.Accepted() {
		return d, nil
	}
	if former != nil && d.Asked.Workflow == "" {
		d.Asked.Workflow = former.state.Load().Workflow // it is another try of the same
	}
	return d, o.accept(ctx, facts, left, d)
}

// EndFollowUps does nothing: the note of the command, which the ear writes next, ends them.
func (o owner) EndFollowUps(context.Context, ear.Subject, ghsync.Account) error { return nil }

// Held lists what the open gate of a session shows that takes maintain permission to approve.
func (o owner) Held(ctx context.Context, s ear.Subject) ([]string, error) {
	h := o.sessions.of(s.Issue)
	if h == nil || h.dir != s.Dir {
		return nil, nil
	}
	state := h.state.Load()
	c, err := o.configs.At(ctx, state.BaseSHA)
	if err != nil {
		return nil, err
	}
	return o.host.Held(ctx, h.dir, state, c)
}

// Guard allows a receipt while no other host has the issue.
func (o owner) Guard(ctx context.Context, issue int) error {
	if h := o.sessions.of(issue); h != nil {
		if held := h.claim(); held != nil {
			return held.Check(ctx)
		}
	}
	holder, _, err := o.claimed(ctx, issue)
	if err == nil && holder != "" && holder != o.bot.host {
		err = fmt.Errorf("host %s works on issue %d", holder, issue)
	}
	return err
}

package bot

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/inbox"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/recall"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// adopt takes up what an earlier process left of a repository: refusals that were not carried
// out, tickets, and sessions that are under way or owe something. It reads the claims first: one
// that another host has taken meanwhile is that host's. What was left and belongs to nothing here
// is given back.
func (r *repository) adopt(ctx context.Context) error {
	seen, err := r.desk.Leftovers(ctx)
	if err != nil {
		return err
	}
	left := orphan.ByIssue(seen)
	if err := r.adoptTickets(ctx, left); err != nil {
		return err
	}
	if err := r.adoptSessions(ctx, left); err != nil {
		return err
	}
	for _, s := range left {
		held, err := r.desk.Adopt(s)
		if err == nil {
			err = r.mislay(ctx, held)
		}
		if err != nil {
			r.log().Warn("a claim of an earlier process is given back later", "issue", s.Issue, "err", err)
		}
	}
	for _, d := range r.journal.Owed() {
		r.met.Add(d.Issue, r.bot.Now())
	}
	return nil
}

// mislay takes a claim that belongs to nothing here. Of a session that had begun its issue is told that it
// ends; a request is judged once more. The claim of a session that cannot be read is kept for it.
func (r *repository) mislay(ctx context.Context, held claim.Held) error {
	ends, err := r.lookout.Mislay(ctx, held, func(name string) bool { return r.lacks(name) && !recall.Unheard(held.Seen(), r.journal) })
	if ends == nil || err != nil {
		return err
	}
	t := ends.Lost(r.name(), r.id, "it ends: set the label again for another one")
	if err := r.shelf.Write(t); err != nil {
		return err
	}
	return r.enqueue(t, held, false)
}

func (r *repository) adoptTickets(ctx context.Context, left map[int]claim.Seen) error {
	tickets, problems, err := r.shelf.List()
	if err != nil {
		return err
	}
	for _, p := range problems {
		r.log().Error(p.What(), "issue", p.Issue, "file", p.File, "err", p.Err)
		r.met.Add(p.Issue, r.bot.Now())
	}
	for _, t := range tickets {
		if t, err = r.shelf.Dated(t, r.account.Client.Now().Sub(r.bot.Now())); err != nil {
			return err
		}
		s, ok := orphan.TakeFrom(left, t.Issue, orchestrator.PublicID(t.Session, t.Identity))
		if !ok {
			err = r.take(ctx, t, nil)
		} else if held, adoptErr := r.desk.Adopt(s); adoptErr != nil {
			err = adoptErr
		} else {
			err = r.enqueue(t, held, true)
		}
		r.met.Add(t.Issue, time.Time{}) // it may have been closed meanwhile
		if err != nil {
			return fmt.Errorf("take up the ticket of issue %d: %w", t.Issue, err)
		}
	}
	return nil
}

func (r *repository) adoptSessions(ctx context.Context, left map[int]claim.Seen) error {
	entries, err := session.List(r.dir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.State == nil {
			r.log().Warn("a session cannot be read", "session", e.Name, "err", e.Err)
			continue
		}
		if e.State.IssueNumber == 0 || r.ticketed(e) {
			continue
		}
		h := r.know(e.Dir, e.State)
		if !owes(e) {
			continue
		}
		var held claim.Held
		if s, ok := orphan.TakeFrom(left, e.State.IssueNumber, orchestrator.PublicID(e.State.SessionID, e.State.Identity)); ok {
			if held, err = r.desk.Adopt(s); err != nil {
				return err
			}
		}
		if !e.State.Ended() {
			r.met.Add(e.State.IssueNumber, time.Time{}) // it may have been closed meanwhile
		}
		h.adopt(held)
	}
	return nil
}

// ticketed reports whether a session is still to be taken up by its ticket.
func (r *repository) ticketed(e session.Entry) bool {
	t, err := r.shelf.Read(e.State.IssueNumber)
	return err == nil && t.Identity == e.State.Identity
}

// owes reports whether a session is under way, or its end left something to do.
func owes(e session.Entry) bool {
	s := e.State
	return !s.Ended() || len(s.Pending) > 0 || s.Shown() && !mirror.Shown(e.Dir, s.Seq) || len(inbox.Unread(e.Dir, s)) > 0
}

// rung has a session run that was told something at a terminal while no goroutine ran it, or that can be read again, and drops
// a ticket that was stopped there.
func (r *repository) rung(name string) {
	if t, err := r.shelf.Stopped(name); err == nil {
		if _, err := r.dropTicket(t.Issue, t.Dropped, r.account.Client.Now()); err != nil {
			r.log().Warn("a ticket is dropped at the next start", "issue", t.Issue, "err", err)
		}
	}
	kept := r.lookout.Return(name) // before it is read: what is given up is one that can be
	e, ok := session.At(r.dir(), filepath.Join(session.Dir(r.dir()), name))
	switch reads := ok && e.State != nil && e.State.IssueNumber != 0 && !r.ticketed(e); {
	case reads && kept != nil:
		r.met.Add(e.State.IssueNumber, time.Time{}) // it may have been closed meanwhile
		r.sessions.addOlder(newHosted(r, e.Dir, e.State)).adopt(kept)
	case reads && owes(e):
		r.sessions.addOlder(newHosted(r, e.Dir, e.State)).wake()
	case kept != nil:
		if err := r.mislay(r.bot.life, kept); err != nil {
			r.log().Warn("a claim is given back at the next start", "session", name, "err", err)
		}
	}
}

package bot

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/due"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/tenure"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/mirror/comment"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
)

// waiting is a ticket in the queue. Its goroutine shows it on its issue until it begins or is
// dropped.
type waiting struct {
	ticket.Ticket
	repo    *repository
	held    claim.Held
	placard *mirror.Placard
	former  *mirror.Placard // of the session that this one follows; nil: there is none

	begin chan struct{}        // has a value: it has a slot
	end   chan ticket.Ticket   // it is dropped
	news  chan comment.Waiting // the newest that is to be shown
}

const (
	showPause    = 5 * time.Second // after the first failure to show a ticket; doubled up to
	maxShowPause = 90 * time.Second
	refusedPause = 30 * time.Minute // after GitHub refused for good to say how a ticket ended
)

// newWaiting opens the placard of a ticket; found: one that an earlier process made.
func newWaiting(r *repository, t ticket.Ticket, held claim.Held, found bool) (*waiting, error) {
	o := mirror.Options{
		Server: mirror.On(r.account.Client), Repo: r.name(), RepoID: r.id, Issue: t.Issue, Label: r.bot.Config.Bot.Label, Host: r.bot.host.String(),
		LinkHosts: r.bot.Config.GitHub.LinkHosts, Guard: host.MirrorGuard(held), Redactor: r.bot.Host.Redactor, Log: r.log(), Now: r.account.Client.Now,
		Pace: mirror.Pace{Write: r.bot.Config.GitHub.WriteEvery()},
	}
	p, err := mirror.OpenPlacard(o, r.shelf.Placard(t.Issue), mirror.Ticket{
		Session: t.Session, Identity: t.Identity, Began: t.Began(), Snapshot: t.Snapshot, Taken: t.Taken, Begun: t.Lost || t.Saved,
		Found: found, Off: r.refusals.Off(t.Issue, t.Asked()),
	})
	if err != nil {
		return nil, err
	}
	w := &waiting{Ticket: t, repo: r, held: held, placard: p, begin: make(chan struct{}, 1), end: make(chan ticket.Ticket, 1), news: make(chan comment.Waiting, 1)}
	if f := t.Former; f != nil {
		w.former, err = mirror.OpenPlacard(o, r.shelf.Former(t.Issue), mirror.Ticket{
			Session: f.Session, Identity: f.Identity, Began: f.Claimed, Taken: true, Begun: true, Follower: orchestrator.PublicID(t.Session, t.Identity),
		})
	}
	return w, err
}

// enqueue puts a ticket that is claimed into the queue.
func (r *repository) enqueue(t ticket.Ticket, held claim.Held, found bool) error {
	w, err := newWaiting(r, t, held, found)
	if err != nil {
		return err
	}
	if w.Dropped == "" {
		r.bot.queue.Add(entry{w})
	}
	r.bot.spawn(func() {
		for w.run(r.bot.life) != nil { // a panic
			if w.Dropped == "" {
				r.bot.queue.Again(entry{w}, "for this machine: a fault of agentmux")
			}
			transport.Wait(r.bot.life, restartPause)
		}
	})
	return nil
}

// dropTicket has the ticket of an issue end without a session, and reports whether there was one. One that is
// just beginning becomes a session that is stopped. at is when a person asked for that; zero: none did.
func (r *repository) dropTicket(issue int, why string, at time.Time) (bool, error) {
	r.shelving.Lock()
	defer r.shelving.Unlock()
	t, err := r.shelf.Drop(issue, why, at)
	if err != nil || t.Issue == 0 {
		return false, err
	}
	crash.Point("drop ticket", "")
	if e, ok := r.bot.queue.Remove(t.Key()).(entry); ok {
		e.end <- t
	}
	return true, nil
}

// entry is the ticket as the queue knows it.
type entry struct{ *waiting }

func (e entry) Ticket() ticket.Ticket { return e.waiting.Ticket }

func (e entry) Begin() { e.begin <- struct{}{} }

func (e entry) Tell(now comment.Waiting) { e.tell(now) }

// tell has the placard show something else. It never blocks.
func (w *waiting) tell(now comment.Waiting) {
	for {
		select {
		case w.news <- now:
			return
		default:
		}
		select {
		case <-w.news: // an older one
		default:
		}
	}
}

// run records the decision about the ticket, without which no session begins, and shows it until it
// begins, is dropped, or loses its claim.
func (w *waiting) run(ctx context.Context) (err error) {
	defer w.repo.bot.survive(w.log(), &err)
	if w.Dropped != "" {
		w.drop(ctx, w.Dropped, w.Stopped)
		return nil
	}
	if served, err := orphan.Served(ctx, w.repo.account.Client, w.repo.journal, w.Ticket, w.repo.bot.Config.Bot.Label, w.repo.own); err != nil {
		return nil // the next start does it
	} else if served {
		w.served(ctx)
		return nil
	}
	if w.repo.journal.Insist(ctx, journal.Decided{Issue: w.Issue, Trigger: w.Trigger, With: w.With, Row: gate.RowStart, What: gate.Queue}, w.repo.log()) != nil {
		return nil // the next start does it
	}
	crash.Point("decide ticket", "")
	if w.former != nil && !mirror.Insist(ctx, w.former.End, w.Former.Why, w.log()) && ctx.Err() != nil {
		return nil // the next start does it; where it is refused, that comment stays as it is
	}
	var now *comment.Waiting
	pause, failures := time.Duration(0), 0
	for {
		var due <-chan time.Time
		if now != nil {
			due = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.held.Lost():
			w.lost()
			return nil
		case t := <-w.end:
			w.drop(ctx, t.Dropped, t.Stopped)
			return nil
		case <-w.begin:
			if w.starting(ctx) {
				return nil
			}
			now, pause = nil, 0
		case next := <-w.news:
			if !w.Saved { // else its comment stays that of the session
				now, pause = &next, 0
			}
		case <-due:
			next, err := w.placard.Show(ctx, *now)
			switch {
			case errors.Is(err, mirror.ErrIssueGone):
				w.gone(ctx)
				return nil
			case err != nil && ctx.Err() == nil:
				failures++
				pause = min(showPause<<min(failures-1, 5), maxShowPause)
				w.repo.log().Warn("a ticket is not shown", "issue", w.Issue, "wait", pause.String(), "err", err)
			case next > 0:
				pause = next
			default:
				now, failures = nil, 0
			}
		}
	}
}

// lost forgets a ticket that another host has taken. Its comment is that host's now.
func (w *waiting) lost() {
	w.repo.bot.queue.Remove(w.Key())
	w.repo.log().Info("another host has taken a ticket", "issue", w.Issue, "host", w.held.Holder())
	w.remove()
}

// gone drops a ticket whose issue was deleted or transferred.
func (w *waiting) gone(ctx context.Context) {
	w.repo.bot.queue.Remove(w.Key())
	w.repo.bot.queue.Yield(w.Key())
	w.repo.log().Info("a ticket is dropped: its issue was deleted or transferred", "issue", w.Issue)
	w.drop(ctx, "the issue was deleted or transferred", time.Time{})
}

// drop tells on the issue why the ticket does not begin, and gives it up with what was asked before at.
func (w *waiting) drop(ctx context.Context, why string, at time.Time) {
	for !mirror.Insist(ctx, w.repo.refusals.Withdraw(w.placard.Drop, w.Issue, at), why, w.log()) {
		if w.repo.bot.Once || !transport.Wait(ctx, refusedPause) {
			return // the next start does it
		}
	}
	crash.Point("drop placard", "")
	_ = tenure.Release(ctx, w.held) // the next start does it
	w.remove()
}

// served gives a ticket up whose request another host has served.
func (w *waiting) served(ctx context.Context) {
	w.repo.bot.queue.Remove(w.Key())
	w.repo.bot.queue.Yield(w.Key())
	w.repo.log().Info("another host was first", "issue", w.Issue, "err", "it took the request label off before the issue was claimed here")
	_ = tenure.Release(ctx, w.held) // the next start does it
	w.remove()
	w.repo.met.Add(w.Issue, w.repo.bot.Now().Add(due.TryPause)) // a server that lags behind may not have known the label yet
}

func (w *waiting) log() *slog.Logger { return w.repo.log().With("issue", w.Issue) }

func (w *waiting) remove() {
	if err := w.repo.shelf.Remove(w.Issue); err != nil {
		w.log().Warn("ticket not removed", "err", err)
	}
	w.repo.met.Hurry(w.Issue) // who asked again meanwhile waits for it
}

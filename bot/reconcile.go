package bot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/orphan"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// reconcile brings what is here in line with what an issue asks for now. It returns when to look
// at it again, 0 for when it is met next.
func (r *repository) reconcile(ctx context.Context, issue int) (again time.Duration) {
	again, err := r.decide(ctx, issue)
	if err != nil && ctx.Err() == nil {
		r.log().Warn("an issue is judged again later", "issue", issue, "err", err)
		return max(again, r.met.Failed(issue, err, transport.Later))
	}
	return again
}

func (r *repository) decide(ctx context.Context, issue int) (again time.Duration, err error) {
	defer r.bot.survive(r.log().With("issue", issue), &err)
	r.judging.Lock()
	defer r.judging.Unlock()
	if err := r.journal.Refresh(); err != nil {
		return 0, err
	}
	for _, d := range r.journal.Owed() {
		if d.Issue == issue {
			if err := r.refusals.CarryOut(ctx, d); err != nil {
				return 0, err
			}
		}
	}
	record, readErr := r.server.Record(ctx, r.name(), issue)
	if readErr == nil && record.Issue.Closed {
		if err := r.closed(ctx, issue); err != nil {
			return 0, err
		}
	}
	facts, left, err := r.facts(ctx, issue, record, readErr)
	if err != nil {
		return 0, err
	}
	if left != nil && left.Said.Unheard {
		return 0, r.hearLeft(ctx, left)
	}
	d := gate.Decide(ctx, facts, r.server)
	if !left.Follows(d) {
		return 0, nil
	}
	r.attempts.Count(issue, d)
	if d.What != gate.Ignore {
		r.log().Info("issue judged", "issue", issue, "row", d.Row.String(), "decision", string(d.What), "reason", d.Reason)
	}
	r.bot.counts.Judge(d.Row.String(), d.Refused(), d.Accepted())
	switch {
	case left.Ends(d):
		return 0, r.forsake(ctx, left, d)
	case d.Refused():
		return 0, r.refusals.Refuse(ctx, issue, d)
	case d.Accepted():
		return 0, r.accept(ctx, facts, left, d)
	case d.What == gate.Later:
		return max(d.After, time.Second), d.Err
	case d.DropsLabel():
		return 0, r.refusals.DropRequest(ctx, record.Issue)
	}
	return 0, nil
}

// facts collects what the gate judges. left is the request to be taken from another host; nil: none, or somebody asks again.
func (r *repository) facts(ctx context.Context, issue int, record ghsync.Record, readErr error) (f gate.Facts, left *orphan.Request, err error) {
	f = gate.Facts{
		Repo: r.name(), RepoID: r.id, Issue: issue, Record: record, RecordErr: readErr, Own: r.own,
		Rules:   gate.Rules{Bot: r.bot.rules(), Gate: r.bot.Config.Gate, Unsandboxed: r.host.Unsandboxed(r.bot.Config)},
		History: r.journal, Load: r.bot.queue.Load(r.id), Tries: r.attempts.Tries(issue),
	}
	h := r.sessions.of(issue)
	ending := r.shelf.Ends(issue, h != nil && h.state.Load().Ended(), r.journal.Refused) // before the claim, which may be given back now
	host, left, err := r.claimed(ctx, issue)
	if err != nil {
		return f, nil, err
	}
	_, asked := record.Request(f.Rules.Bot.Label)
	if !asked && left != nil && readErr == nil {
		if err := r.reviews().Left(ctx, left, record); err != nil {
			return f, nil, err
		}
		return left.Judged(f, r.journal), left, nil
	}
	if asked && left != nil && left.Mislaid {
		err = r.lookout.Forget(ctx, issue)
	}
	if host != "" {
		f.Claim = &gate.Claim{Host: host.String(), Unproven: host != r.bot.host && !r.bot.Once && r.lookout.Unproven(issue), Served: r.shelf.Served(issue), Unread: r.shelf.Unread(issue) || r.lookout.Unread(issue) != nil, Serves: r.lookout.Serves(issue)}
		f.Claim.Ending = ending && host == r.bot.host
	}
	return f, nil, err
}

// claimed returns the host that works on an issue: this one, if it has a ticket or a session of
// it that is under way, else another one. left is a request of that one that may be taken.
func (r *repository) claimed(ctx context.Context, issue int) (host claim.HostID, left *orphan.Request, err error) {
	if _, err := r.shelf.Read(issue); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return r.bot.host, nil, nil // a ticket that cannot be read holds its issue, too
	}
	if h := r.sessions.of(issue); h != nil && h.live() {
		return r.bot.host, nil, nil
	}
	return r.lookout.Holder(ctx, issue)
}

// closed stops what works on an issue that was closed.
func (r *repository) closed(ctx context.Context, issue int) error {
	if dropped, err := r.dropTicket(issue, "the issue was closed", time.Time{}); dropped || err != nil {
		return err
	}
	if h := r.sessions.of(issue); h != nil && h.live() {
		return h.command(orchestrator.Payload{Name: "stop", Actor: "the close of the issue", Source: "issue", SourceID: fmt.Sprintf("closed/%s", h.began.UTC().Format(time.RFC3339))})
	}
	return nil
}

// accept makes the ticket of a request: on disk, claimed, and then told.
func (r *repository) accept(ctx context.Context, f gate.Facts, left *orphan.Request, d gate.Decision) error {
	issue, record := f.Issue, f.Record
	snapshot, err := r.account.Client.TakeSnapshot(ctx, ghsync.SnapshotSpec{
		Repo: r.name(), Issue: issue, CutOff: d.Asked.CutOff, Trigger: d.Asked.Trigger.String(), Requester: d.Asked.By, Record: &record,
	})
	if err != nil {
		return err
	}
	if snapshot.Report.Refused {
		d.What, d.Reason, d.Remedy = gate.Refuse, "the issue hides text in so many layers that no part of it can be trusted", "write it without HTML and encoded characters, and set the label again"
	} else if left == nil {
		if goesOn, err := r.again(ctx, record, &d, &snapshot); err != nil {
			return err
		} else if goesOn {
			return r.refusals.DropRequest(ctx, record.Issue)
		}
	}
	if d.Refused() {
		return r.refusals.Refuse(ctx, issue, d)
	}
	workflow, err := gate.Tried(ctx, d, f, r.server)
	if err != nil {
		return err
	}
	t := left.Hand(r.dir(), ticket.Ticket{
		Repo: r.name(), RepoID: r.id, Issue: issue, Session: ticket.FreeName(r.dir(), issue, snapshot.Title.String(), r.bot.Now()), Identity: session.NewIdentity(), Workflow: workflow,
		Trigger: d.Asked.Trigger, With: d.Asked.With, Actor: d.Asked.By.Account, Requested: d.Asked.CutOff, Made: r.account.Client.Now(),
		Locked: record.Issue.Locked, Snapshot: &snapshot,
	})
	if err := r.shelf.Write(t); err != nil {
		return err
	}
	crash.Point("write ticket", "")
	return r.take(ctx, t, left)
}

// forsake ends the request of a host that is gone, which does not hold any more.
func (r *repository) forsake(ctx context.Context, left *orphan.Request, d gate.Decision) error {
	if d.Refused() {
		if err := r.refusals.Refuse(ctx, left.Seen.Issue, d); err != nil {
			return err
		}
	}
	t := left.Lost(r.name(), r.id, d.Reason)
	if err := r.shelf.Write(t); err != nil {
		return err
	}
	return r.take(ctx, t, left)
}

// take claims the issue of a ticket and queues it. left is the request of another host that it continues; nil: of none.
func (r *repository) take(ctx context.Context, t ticket.Ticket, left *orphan.Request) error {
	held, err := r.lookout.Take(ctx, claim.Want{
		Issue: t.Issue, Session: orchestrator.PublicID(t.Session, t.Identity), Trigger: t.Trigger.String(), State: claim.Queued,
	}, left)
	if errors.As(err, new(*claim.RefusedError)) || r.bot.Issue != 0 && claim.Denied(err) { // a job has its token for good
		r.bot.fail(fmt.Errorf("%s: %w", r.name(), err))
	}
	if errors.As(err, new(*claim.TakenError)) {
		r.log().Info("another host was first", "issue", t.Issue, "err", err)
		return r.shelf.Remove(t.Issue)
	}
	if err != nil {
		return errors.Join(err, r.shelf.Remove(t.Issue)) // the label is still on: it is met again
	}
	crash.Point("claim ticket", "")
	return r.enqueue(t, held, false)
}

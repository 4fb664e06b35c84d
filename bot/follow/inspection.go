package follow

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/feedback"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Settle asks GitHub for a pull request of which all does not know whether it is open, and reports whether it is closed.
func (f *Follow) Settle(ctx context.Context, all *Pulls, number int) (closed bool, err error) {
	if !all.Unsure(number) {
		return false, nil
	}
	f.mu.Lock()
	r := feedback.Reader{Client: f.o.Client, Repo: f.repo}
	f.mu.Unlock()
	h, err := r.Head(ctx, number)
	if transport.IsNotFound(err) {
		return true, nil
	}
	if err == nil && h.Open {
		all.Opened(ghsync.OpenPull{Number: number, Head: h.SHA})
	}
	return err == nil && !h.Open, err
}

// inspection is one look at a pull request.
type inspection struct {
	f       *Follow
	p       Pull
	w       *watched
	heard   ghsync.OpenPull
	reviews []ghsync.Review
	fresh   bool // it changed since its checks were read
	reader  feedback.Reader
}

// run reads what is due, decides, and does what was decided. next is when to do it the next time.
func (i *inspection) run(ctx context.Context) (next time.Time, err error) {
	defer func() { // what a pull request says stops no other one
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if !i.p.State.Ended() { // nothing follows before, and its end leads to another look
		i.w.passed = true
		return next, nil
	}
	i.w.passed = false
	now := i.f.o.Now()
	if i.p.Head != i.w.pushed {
		i.w.pushed, i.w.pushedAt, i.fresh = i.p.Head, now, true
	}
	if i.fresh || i.w.readAt.IsZero() || i.checksDue(now) {
		if err := i.readHead(transport.WithPriority(ctx, transport.PriorityDiscovery)); err != nil {
			return next, err
		}
	}
	d, err := i.decide(ctx)
	if err != nil {
		return next, err
	}
	if d.What == Round || d.What == Tell {
		if d, err = i.confirm(ctx); err != nil {
			return next, err
		}
	}
	switch d.What {
	case Round:
		err = i.deliver(ctx, d)
	case Tell:
		err = i.tell(ctx, d)
	case Wait:
		next = d.Until
	}
	if !i.w.head.Open {
		return next, err
	}
	if at := i.w.readAt.Add(checksEvery); i.unfinished(now) && (next.IsZero() || at.Before(next)) {
		next = at
	}
	return next, err
}

// confirm decides once more, by reviews and checks that are read now.
func (i *inspection) confirm(ctx context.Context) (Decision, error) {
	reviews, err := (ghsync.Intake{Client: i.f.o.Client}).Reviews(ctx, i.reader.Repo, i.p.Number)
	if err != nil {
		return Decision{}, err
	}
	i.reviews = reviews // not noted: what was heard meanwhile may be newer
	if err := i.readHead(ctx); err != nil {
		return Decision{}, err
	}
	return i.decide(ctx)
}

// readHead reads the checks. An account that may not see them follows reviews alone.
func (i *inspection) readHead(ctx context.Context) error {
	h, err := i.reader.Head(ctx, i.p.Number)
	if errors.As(err, new(*transport.Terminal)) {
		i.f.o.Log.Warn("checks cannot be read; reviews are followed alone", "pull", i.p.Number, "err", err)
		h, err = feedback.Head{SHA: i.heard.Head, Open: true}, nil
	}
	if err != nil {
		return err
	}
	now := i.f.o.Now()
	if h.SHA != i.w.head.SHA {
		i.w.since = now
		if h.Cut {
			i.f.o.Log.Warn("the head has more checks than are read; what the others say is not followed", "pull", i.p.Number, "read", len(h.Checks))
		}
	}
	i.w.head, i.w.readAt = h, now
	return nil
}

// unfinished reports whether a check that counts has no result yet, or none has appeared.
func (i *inspection) unfinished(now time.Time) bool {
	counts := i.w.head.Counts()
	if len(counts) == 0 {
		return now.Sub(i.w.since) < appearTime
	}
	return slices.ContainsFunc(counts, func(c feedback.Check) bool { return !c.Done })
}

func (i *inspection) checksDue(now time.Time) bool {
	return i.w.head.Open && i.unfinished(now) && now.Sub(i.w.readAt) >= checksEvery
}

// decide puts the facts together; the permissions that they need are asked for.
func (i *inspection) decide(ctx context.Context) (Decision, error) {
	own, err := i.f.o.Client.Viewer(ctx)
	if err != nil {
		return Decision{}, err
	}
	past, err := PastOf(i.p.Dir)
	if err != nil {
		return Decision{}, err
	}
	if !past.Last.IsZero() { // by the clock of the server, as all else
		past.Last = i.f.o.Now().Add(past.Last.Sub(i.f.o.Local()))
	}
	f := Facts{
		Now: i.f.o.Now(), Rules: i.p.Rules, Bot: i.f.o.Bot, Own: own, State: i.p.State, Past: past, Pushed: i.w.pushed, PushedAt: i.w.pushedAt,
		Head: i.w.head, Reviews: i.reviews, Seen: map[string]time.Time{},
	}
	said := f.Objections()
	for _, o := range said {
		at, known := i.w.seen[o.Source]
		if !known {
			at = f.Now
		}
		f.Seen[o.Source] = at
	}
	i.w.seen = f.Seen
	answers, limited := i.f.permissions(ctx, i.reader.Repo, Authors(said))
	f.Answers = answers
	d := Decide(f)
	if limited && d.What == Nothing {
		d = Decision{What: Wait, Until: f.Now.Add(time.Hour), Reason: "too many permissions were asked for"}
	}
	i.f.o.Log.Debug("a pull request is looked at", "pull", i.p.Number, "decision", string(d.What), "reason", d.Reason)
	return d, ctx.Err()
}

// deliver gives the session the request.
func (i *inspection) deliver(ctx context.Context, d Decision) error {
	all, err := i.evidence(ctx, d.Objections)
	if err != nil {
		return err
	}
	p := i.payload(d)
	p.Args.Text = Request(all, i.f.o.Secrets)
	if err := i.f.o.Owner.Deliver(ctx, i.p, p); err != nil {
		return err
	}
	crash.Point("follow up", "round")
	i.f.count(&i.f.given)
	i.f.o.Log.Info("a session is asked for changes", "pull", i.p.Number, "source", p.SourceID)
	return nil
}

// tell says that no round follows.
func (i *inspection) tell(ctx context.Context, d Decision) error {
	p := i.payload(d)
	p.SourceID, p.Origin, p.State = story.FollowUpsOver, "", noteRefused
	reason := d.Reason + ": a person decides what follows"
	if err := i.f.o.Owner.Tell(ctx, i.p, p, reason); err != nil {
		return err
	}
	crash.Point("follow up", "told")
	i.f.count(&i.f.told)
	i.f.o.Log.Info("no follow-up round is left", "pull", i.p.Number, "reason", d.Reason)
	return nil
}

// payload is a command about the objections, said by the newest reviewer.
func (i *inspection) payload(d Decision) orchestrator.Payload {
	actor := "checks"
	if who := Authors(d.Objections); len(who) > 0 {
		actor = who[len(who)-1].Login
	}
	return orchestrator.Payload{Name: "changes", Actor: actor, Source: "issue", SourceID: Sources(d.Objections), Origin: origin}
}

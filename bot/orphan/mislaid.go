package orphan

import (
	"context"
	"errors"

	"github.com/agentmux/agentmux/bot/claim"
)

// keptRequest is one whose ticket this host lost.
type keptRequest struct {
	Request
	held claim.Held // its claim; nil: it was given back
}

// Mislay takes a claim of this host that belongs to nothing on its machine. A request is kept, to be judged
// once more. ends is a session that had begun, whose files lacks misses by its name: the caller ends it under the
// claim. The claim of one that cannot be read is kept, see [Lookout.Unread]. All else is given back.
func (l *Lookout) Mislay(ctx context.Context, held claim.Held, lacks func(name string) bool) (ends *Request, err error) {
	q, ok := Mislaid(held.Seen())
	switch {
	case ok && l.keepsUnread(q, held):
		return nil, nil
	case ok && !q.Begun:
		l.mu.Lock()
		l.kept[q.Seen.Issue] = &keptRequest{q, held}
		l.mu.Unlock()
		l.o.Found(q.Seen.Issue)
		return nil, nil
	case ok && lacks(q.Name):
		return &q, nil
	}
	return nil, released(ctx, held)
}

// ByIssue returns claims by their issues, of which each has one.
func ByIssue(all []claim.Seen) map[int]claim.Seen {
	by := map[int]claim.Seen{}
	for _, s := range all {
		by[s.Issue] = s
	}
	return by
}

// TakeFrom takes the claim of a session, by its name on the server, out of those that an earlier process of this host left,
// by issue.
func TakeFrom(left map[int]claim.Seen, issue int, session string) (claim.Seen, bool) {
	s, ok := left[issue]
	if !ok || s.Claim.Session != session {
		return claim.Seen{}, false
	}
	delete(left, issue)
	return s, true
}

// keptOf returns the kept request of an issue; nil without one. One whose claim another host has taken is that
// host's.
func (l *Lookout) keptOf(issue int) *keptRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.kept[issue]
	if kept == nil || kept.held == nil {
		return kept
	}
	select {
	case <-kept.held.Lost():
		delete(l.kept, issue)
		return nil
	default:
		return kept
	}
}

func (l *Lookout) drop(issue int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kept, issue)
}

// mislaid returns the request of an issue that was kept; nil without one. It may be a session of another host,
// which this one had taken to continue it from its checkpoint.
func (l *Lookout) mislaid(ctx context.Context, issue int) (*Request, error) {
	kept := l.keptOf(issue)
	if kept == nil {
		return nil, nil
	}
	q := kept.Request
	if l.o.Saved != nil {
		saved, err := l.o.Saved(ctx, q.Seen.Claim.Session)
		if err != nil {
			return nil, err
		}
		q.Saved, q.Begun = saved, saved
	}
	return &q, nil
}

// Forget gives the claim of a kept request back: somebody asks for the issue once more.
func (l *Lookout) Forget(ctx context.Context, issue int) error {
	if kept := l.keptOf(issue); kept != nil && kept.held != nil {
		if err := released(ctx, kept.held); err != nil {
			return err
		}
	}
	l.drop(issue)
	return nil
}

// takeKept returns the claim of a kept request if it is the one that is wanted. Else that is given back, and
// held is nil; the request is kept until the other claim is there.
func (l *Lookout) takeKept(ctx context.Context, want claim.Want) (held claim.Held, err error) {
	kept := l.keptOf(want.Issue)
	if kept == nil || kept.held == nil {
		return nil, nil
	}
	if c := kept.held.Seen().Claim; c.Session == want.Session && c.Trigger == want.Trigger && c.State == want.State {
		l.drop(want.Issue)
		return kept.held, nil
	}
	if err := released(ctx, kept.held); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[want.Issue] = &keptRequest{Request: kept.Request}
	return nil, nil
}

// released gives a claim back; one that is lost is given back already.
func released(ctx context.Context, held claim.Held) error {
	err := held.Release(ctx)
	if errors.As(err, new(*claim.LostError)) {
		return nil
	}
	return err
}

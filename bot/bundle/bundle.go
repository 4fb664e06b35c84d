// Package bundle claims several issues at once, for a session whose agents work on each of them. All
// of them are held, or none, and one that is lost is all of them lost. It stores nothing of its own:
// the claims are those of package claim.
package bundle

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
)

// Desk is a desk at which Issues are claimed together. The issue of a claim.Want does not count.
type Desk struct {
	claim.Desk
	Issues []int
}

// Take is described at Desk. What an earlier process of this host left for the session is held again.
func (d Desk) Take(ctx context.Context, want claim.Want) (claim.Held, error) {
	left, err := d.Desk.Leftovers(ctx)
	if err != nil {
		return nil, err
	}
	return d.all(ctx, want, func(want claim.Want) (claim.Held, error) {
		for _, seen := range left {
			if seen.Issue == want.Issue && seen.Claim.Session == want.Session {
				return d.Desk.Adopt(seen)
			}
		}
		return d.Desk.Take(ctx, want)
	})
}

// Steal is described at Desk. What is claimed of the other issues for the same session is stolen, too; the rest is taken
// as Take does.
func (d Desk) Steal(ctx context.Context, from claim.Seen, want claim.Want) (claim.Held, error) {
	all, err := d.Desk.Look(ctx)
	if err != nil {
		return nil, err
	}
	return d.all(ctx, want, func(want claim.Want) (claim.Held, error) {
		if want.Issue == from.Issue {
			return d.Desk.Steal(ctx, from, want)
		}
		for _, seen := range all {
			if seen.Issue == want.Issue && seen.Problem == nil && seen.Claim.Session == from.Claim.Session {
				return d.Desk.Steal(ctx, seen, want)
			}
		}
		return d.Desk.Take(ctx, want)
	})
}

// Leftovers is described at Desk: Take sees to them.
func (d Desk) Leftovers(context.Context) ([]claim.Seen, error) { return nil, nil }

// all claims each issue, in their order. If one cannot be claimed, those before it are given back.
func (d Desk) all(ctx context.Context, want claim.Want, take func(claim.Want) (claim.Held, error)) (claim.Held, error) {
	h := &held{lost: make(chan struct{}), over: make(chan struct{})}
	issues := slices.Clone(d.Issues)
	slices.Sort(issues)
	for _, issue := range slices.Compact(issues) {
		want.Issue = issue
		one, err := take(want)
		if err != nil {
			return nil, errors.Join(err, h.Release(ctx))
		}
		h.claims = append(h.claims, one)
	}
	h.watch()
	s := &shared{held: h}
	for _, one := range h.claims {
		if seen, ok := one.(claim.Shared); ok {
			s.claims = append(s.claims, seen)
		}
	}
	if len(s.claims) == len(h.claims) {
		return s, nil
	}
	return h, nil
}

// shared are claims that others see.
type shared struct {
	*held
	claims []claim.Shared
}

var _ claim.Shared = (*shared)(nil)

// spareEvery is how often the last push of a session asks for room.
const spareEvery = time.Second

// Reread reads each of them.
func (s *shared) Reread(ctx context.Context) error {
	for _, one := range s.claims {
		if err := one.Reread(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Pass is that of one claim, since all are of one repository, but the last push of a session, too, leaves room for the
// ends of the claims: each of them is a push, and other hosts wait for them.
func (s *shared) Pass(ctx context.Context, last bool) (bool, error) {
	for {
		pass, err := s.claims[0].Pass(ctx, false)
		if pass || err != nil || !last {
			return pass, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(spareEvery):
		}
	}
}

// held are the claims of a session on several issues.
type held struct {
	claims []claim.Held
	lost   chan struct{} // is closed with the first that is lost

	mu       sync.Mutex
	first    claim.Held // that was lost
	over     chan struct{}
	released bool
}

// watch notices the first claim that is lost, until all are released.
func (h *held) watch() {
	for _, held := range h.claims {
		go func() {
			select {
			case <-held.Lost():
			case <-h.over:
				return
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.first == nil {
				h.first = held
				close(h.lost)
			}
		}()
	}
}

// Seen is the claim of the first issue.
func (h *held) Seen() claim.Seen { return h.claims[0].Seen() }

func (h *held) Check(ctx context.Context) error {
	for _, held := range h.claims {
		if err := held.Check(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (h *held) Lost() <-chan struct{} { return h.lost }

func (h *held) Holder() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first == nil {
		return ""
	}
	return h.first.Holder()
}

func (h *held) Mark(ctx context.Context, to claim.State) error {
	return h.each(func(held claim.Held) error { return held.Mark(ctx, to) })
}

func (h *held) Release(ctx context.Context) error {
	err := h.each(func(held claim.Held) error { return held.Release(ctx) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if (err == nil || errors.As(err, new(*claim.LostError))) && !h.released {
		h.released = true
		close(h.over)
	}
	return err
}

// each does something with every claim. One that is lost keeps nothing from the others; its error is
// returned only if there is no other.
func (h *held) each(do func(claim.Held) error) error {
	var lost, failed error
	for _, held := range h.claims {
		switch err := do(held); {
		case errors.As(err, new(*claim.LostError)):
			lost = err
		case err != nil:
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return failed
	}
	return lost
}

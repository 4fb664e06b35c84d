// Package claimtest keeps claims in memory, for the tests of those who decide by them: a claim is created where an
// issue has none, and changed by compare-and-swap, as the refs of a server are.
package claimtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
)

// Hub is a server with the claims of one repository. It is safe for concurrent use.
type Hub struct {
	mu     sync.Mutex
	n      int
	claims map[int]claim.Seen
	dead   map[claim.HostID]bool // hosts that are gone, as is known
}

// NewHub returns a hub without claims.
func NewHub() *Hub { return &Hub{claims: map[int]claim.Seen{}, dead: map[claim.HostID]bool{}} }

// put makes a claim the one of its issue. The hub is locked.
func (h *Hub) put(want claim.Want, host claim.HostID) claim.Seen {
	h.n++
	seen := claim.Seen{Issue: want.Issue, ID: fmt.Sprint(h.n), Claim: claim.Claim{
		Issue: want.Issue, Session: want.Session, Trigger: want.Trigger, State: want.State, Host: host, At: time.Unix(int64(h.n), 0),
	}}
	h.claims[want.Issue] = seen
	return seen
}

// Kill has a host be gone, as all others know at once.
func (h *Hub) Kill(host claim.HostID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dead[host] = true
}

// Of returns the claim of an issue; the zero Seen for none.
func (h *Hub) Of(issue int) claim.Seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.claims[issue]
}

// Desk returns the desk of a host.
func (h *Hub) Desk(host claim.HostID) claim.Desk { return desk{h, host} }

type desk struct {
	*Hub
	host claim.HostID
}

func (d desk) Take(_ context.Context, want claim.Want) (claim.Held, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if seen, taken := d.claims[want.Issue]; taken {
		return nil, &claim.TakenError{Seen: seen}
	}
	return &held{Hub: d.Hub, seen: d.put(want, d.host)}, nil
}

func (d desk) Steal(_ context.Context, seen claim.Seen, want claim.Want) (claim.Held, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.claims[want.Issue]; now.ID != seen.ID || !d.dead[now.Claim.Host] {
		return nil, &claim.TakenError{Seen: now}
	}
	return &held{Hub: d.Hub, seen: d.put(want, d.host)}, nil
}

func (d desk) Adopt(seen claim.Seen) (claim.Held, error) { return &held{Hub: d.Hub, seen: seen}, nil }

func (d desk) Look(context.Context) ([]claim.Seen, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []claim.Seen
	for _, issue := range slices.Sorted(maps.Keys(d.claims)) {
		all = append(all, d.claims[issue])
	}
	return all, nil
}

func (d desk) Stale(_ context.Context, seen claim.Seen) (claim.Stale, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dead[seen.Claim.Host] {
		return claim.NotStale, nil
	}
	if _, _, job := seen.Claim.Host.Job(); job {
		return claim.RunEnded, nil
	}
	return claim.Silent, nil
}

func (d desk) Leftovers(ctx context.Context) ([]claim.Seen, error) {
	all, err := d.Look(ctx)
	return slices.DeleteFunc(all, func(s claim.Seen) bool { return s.Claim.Host != d.host }), err
}

func (d desk) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// held is a claim that was won.
type held struct {
	*Hub
	seen claim.Seen
}

func (h *held) Seen() claim.Seen { return h.seen }

func (h *held) Check(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.claims[h.seen.Issue]; now.ID != h.seen.ID {
		return &claim.LostError{Issue: h.seen.Issue, Host: now.Claim.Host}
	}
	return nil
}

func (h *held) Lost() <-chan struct{} { return nil }

func (h *held) Holder() string { return "" }

func (h *held) Mark(_ context.Context, to claim.State) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.claims[h.seen.Issue]; now.ID != h.seen.ID {
		return &claim.LostError{Issue: h.seen.Issue, Host: now.Claim.Host}
	}
	c := h.seen.Claim
	h.seen = h.put(claim.Want{Issue: h.seen.Issue, Session: c.Session, Trigger: c.Trigger, State: to}, c.Host)
	return nil
}

func (h *held) Release(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.claims[h.seen.Issue]; now.ID != h.seen.ID {
		return &claim.LostError{Issue: h.seen.Issue, Host: now.Claim.Host}
	}
	delete(h.claims, h.seen.Issue)
	return nil
}

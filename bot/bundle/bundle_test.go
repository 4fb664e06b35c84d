package bundle_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/bot/bundle"
	"github.com/agentmux/agentmux/bot/claim"
)

var want = claim.Want{Session: "s", Trigger: "agents/s", State: claim.Running}

// A session of several issues holds all of them or none.
func TestProtocolM5IssuesAreClaimedTogether(t *testing.T) {
	home := t.TempDir()
	local := func() claim.Desk { return claim.NewLocal(home, 1001, claim.NewHostID(), nil) }
	one, two := bundle.Desk{Desk: local(), Issues: []int{9, 3}}, local()
	nine := want
	nine.Issue = 9
	other, err := two.Take(t.Context(), nine)
	if err != nil {
		t.Fatal(err)
	}
	var taken *claim.TakenError
	if _, err := one.Take(t.Context(), want); !errors.As(err, &taken) || taken.Seen.Issue != 9 {
		t.Fatalf("took what another host has: %v", err)
	}
	if got := claimed(t, two); !slices.Equal(got, []int{9}) {
		t.Errorf("claims that are left %v", got)
	}
	if err := other.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	held, err := one.Take(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if got := claimed(t, two); !slices.Equal(got, []int{3, 9}) || held.Check(t.Context()) != nil || held.Seen().Issue != 3 {
		t.Errorf("claims %v, seen %+v, check %v", got, held.Seen(), held.Check(t.Context()))
	}
	for range 2 {
		if err := held.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	if got := claimed(t, two); len(got) != 0 || !errors.Is(held.Check(t.Context()), claim.ErrReleased) {
		t.Errorf("claims after the release %v", got)
	}
}

func claimed(t *testing.T, d claim.Desk) (issues []int) {
	t.Helper()
	seen, err := d.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range seen {
		issues = append(issues, s.Issue)
	}
	return issues
}

// killed is a desk of a host that a kill left with claims, one of which is lost later.
type killed struct {
	claim.Desk
	left    []claim.Seen
	adopted []int
	held    map[int]*held
}

type held struct {
	claim.Held
	seen claim.Seen
	lost chan struct{}
}

func (d *killed) Leftovers(context.Context) ([]claim.Seen, error) { return d.left, nil }

func (d *killed) Adopt(seen claim.Seen) (claim.Held, error) {
	d.adopted = append(d.adopted, seen.Issue)
	return d.Take(context.Background(), claim.Want{Issue: seen.Issue})
}

func (d *killed) Take(_ context.Context, want claim.Want) (claim.Held, error) {
	d.held[want.Issue] = &held{seen: claim.Seen{Issue: want.Issue}, lost: make(chan struct{})}
	return d.held[want.Issue], nil
}

func (h *held) Lost() <-chan struct{} { return h.lost }

func (h *held) Holder() string { return "h_other" }

func (h *held) Release(context.Context) error {
	select {
	case <-h.lost:
		return &claim.LostError{Issue: h.seen.Issue, Host: "h_other"}
	default:
		return nil
	}
}

// What a killed process left for the session is held again, not claimed again; a claim that is lost
// is the loss of all.
func TestAfterAKill(t *testing.T) {
	d := &killed{held: map[int]*held{}, left: []claim.Seen{{Issue: 9, Claim: claim.Claim{Session: "s"}}, {Issue: 3, Claim: claim.Claim{Session: "another"}}}}
	all, err := bundle.Desk{Desk: d, Issues: []int{3, 9}}.Take(t.Context(), want)
	if err != nil || !slices.Equal(d.adopted, []int{9}) {
		t.Fatalf("adopted %v, %v", d.adopted, err)
	}
	if all.Holder() != "" {
		t.Errorf("held by %q", all.Holder())
	}
	close(d.held[9].lost)
	<-all.Lost()
	if err := all.Release(t.Context()); all.Holder() != "h_other" || !errors.As(err, new(*claim.LostError)) {
		t.Errorf("held by %q, release %v", all.Holder(), err)
	}
}

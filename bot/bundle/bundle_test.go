package bundle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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

// passing is a claim that others see. There is room after some time.
type passing struct {
	*held
	room time.Time
}

func (p passing) Pass(_ context.Context, last bool) (bool, error) {
	return last || !time.Now().Before(p.room), nil
}

// Reread finds the claim of issue 9 lost.
func (p passing) Reread(context.Context) error {
	if p.seen.Issue == 9 {
		return &claim.LostError{Issue: 9, Host: "h_other"}
	}
	return nil
}

type seenByOthers struct{ *killed }

func (d seenByOthers) Take(ctx context.Context, want claim.Want) (claim.Held, error) {
	one, err := d.killed.Take(ctx, want)
	return passing{one.(*held), time.Now().Add(30 * time.Second)}, err
}

// Claims that others see let checkpoints leave, as one such claim does, but the last one leaves room for
// the ends of the claims. Locks of this machine let none leave.
func TestClaimsThatOthersSeeLetCheckpointsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &killed{held: map[int]*held{}}
		take := func(desk claim.Desk) (shared claim.Shared, ok bool) {
			all, err := bundle.Desk{Desk: desk, Issues: []int{3, 9}}.Take(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = all.Release(context.Background()) })
			shared, ok = all.(claim.Shared)
			return shared, ok
		}
		if _, ok := take(d); ok {
			t.Error("locks let checkpoints leave")
		}
		shared, ok := take(seenByOthers{d})
		if !ok {
			t.Fatal("no way for checkpoints")
		}
		if err := shared.Reread(t.Context()); !errors.As(err, new(*claim.LostError)) {
			t.Errorf("a claim that was lost, read again: %v", err)
		}
		if pass, err := shared.Pass(t.Context(), false); pass || err != nil {
			t.Errorf("without room: %v, %v", pass, err)
		}
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if pass, err := shared.Pass(short, true); pass || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the last one of a session that is stopped: %v, %v", pass, err)
		}
		began := time.Now()
		if pass, err := shared.Pass(t.Context(), true); !pass || err != nil || time.Since(began) < 20*time.Second {
			t.Errorf("the last one: %v, %v after %v", pass, err, time.Since(began))
		}
	})
}

// gone is a desk at which a host that is gone has claims.
type gone struct {
	*killed
	seen   []claim.Seen
	stolen []int
}

func (d *gone) Look(context.Context) ([]claim.Seen, error) { return d.seen, nil }

func (d *gone) Steal(ctx context.Context, seen claim.Seen, want claim.Want) (claim.Held, error) {
	d.stolen = append(d.stolen, seen.Issue)
	return d.killed.Take(ctx, want)
}

// Of a session that is taken over each claim is, by whichever host it was held; that of another session is not.
func TestClaimsAreTakenOverTogether(t *testing.T) {
	of := func(issue int, session, host string) claim.Seen {
		return claim.Seen{Issue: issue, Claim: claim.Claim{Session: session, Host: claim.HostID(host)}}
	}
	d := &gone{killed: &killed{held: map[int]*held{}}, seen: []claim.Seen{of(3, "s", "h_1"), of(5, "another", "h_1"), of(9, "s", "h_2")}}
	if _, err := (bundle.Desk{Desk: d, Issues: []int{3, 5, 7, 9}}).Steal(t.Context(), d.seen[0], want); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.stolen, []int{3, 9}) || len(d.held) != 4 {
		t.Errorf("stolen %v of %d", d.stolen, len(d.held))
	}
}

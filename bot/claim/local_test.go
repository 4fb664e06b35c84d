package claim_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

// desks are two hosts of one machine, by each kind of desk.
func desks(t *testing.T) map[string][2]claim.Desk {
	t.Helper()
	w, home := newWorld(t), t.TempDir()
	local := func() claim.Desk { return claim.NewLocal(home, repoID, claim.NewHostID(), nil) }
	return map[string][2]claim.Desk{"remote": {w.host(), w.host()}, "local": {local(), local()}}
}

func TestDesksAreAlike(t *testing.T) {
	for name, pair := range desks(t) {
		t.Run(name, func(t *testing.T) {
			one, two := pair[0], pair[1]
			held, err := one.Take(t.Context(), want(12, claim.Queued))
			if err != nil {
				t.Fatal(err)
			}
			other, err := two.Take(t.Context(), want(2, claim.Running))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range pair {
				var taken *claim.TakenError
				if _, err := d.Take(t.Context(), want(12, claim.Running)); !errors.As(err, &taken) || taken.Seen.Claim.Host != held.Seen().Claim.Host || taken.Seen.Claim.Session != "s" {
					t.Errorf("take again: %v", err)
				}
			}
			if err := held.Mark(t.Context(), claim.Running); err != nil {
				t.Fatal(err)
			}
			seen, err := two.Look(t.Context())
			if err != nil || len(seen) != 2 || seen[0].Issue != 2 || seen[1].Issue != 12 || seen[1].Claim.State != claim.Running {
				t.Fatalf("look: %+v, %v", seen, err)
			}
			if why, err := two.Stale(t.Context(), seen[1]); why != claim.NotStale || err != nil {
				t.Errorf("stale: %q, %v", why, err)
			}
			if _, err := two.Steal(t.Context(), seen[1], want(12, claim.Running)); !errors.As(err, new(*claim.TakenError)) {
				t.Errorf("steal: %v", err)
			}
			if left, err := two.Leftovers(t.Context()); err != nil || len(left) != 0 {
				t.Errorf("leftovers: %+v, %v", left, err)
			}
			if err := held.Check(t.Context()); err != nil {
				t.Errorf("check: %v", err)
			}
			for range 2 {
				if err := held.Release(t.Context()); err != nil {
					t.Errorf("release: %v", err)
				}
			}
			if err := held.Check(t.Context()); !errors.Is(err, claim.ErrReleased) {
				t.Errorf("check of a released one: %v", err)
			}
			again, err := two.Steal(t.Context(), seen[1], want(12, claim.Running))
			if err != nil {
				t.Fatalf("steal of a released one: %v", err)
			}
			if err := errors.Join(again.Check(t.Context()), other.Check(t.Context())); err != nil {
				t.Error(err)
			}
			if err := other.Mark(t.Context(), claim.Handover); err != nil {
				t.Errorf("hand over: %v", err)
			}
			if err := other.Check(t.Context()); !errors.Is(err, claim.ErrReleased) {
				t.Errorf("check of one that was handed over: %v", err)
			}
		})
	}
}

// The server of TestGitHub41RefusedRefsNameTheSetting, with the setting: nothing is pushed.
func TestGitHub41OneMachineLocksItsIssues(t *testing.T) {
	w := newWorld(t)
	w.Repo(widgets).RefusePush(fakehub.HiddenRule("refs/agentmux/*"))
	home := t.TempDir()
	first := claim.NewLocal(home, repoID, claim.NewHostID(), nil)
	held, err := first.Take(t.Context(), want(12, claim.Running))
	if err != nil {
		t.Fatal(err)
	}
	second := claim.NewLocal(home, repoID, claim.NewHostID(), nil)
	if _, err := second.Take(t.Context(), want(12, claim.Running)); !errors.As(err, new(*claim.TakenError)) {
		t.Errorf("a second host: %v", err)
	}
	other := claim.NewLocal(home, repoID+1, claim.NewHostID(), nil)
	if _, err := other.Take(t.Context(), want(12, claim.Running)); err != nil {
		t.Errorf("another repository: %v", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := second.Take(t.Context(), want(12, claim.Running)); err != nil {
		t.Errorf("after the release: %v", err)
	}
	if n := len(w.Calls()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A lock whose file is not the one that others would lock keeps no host off.
func TestALockThatWasReplacedIsLost(t *testing.T) {
	home := t.TempDir()
	one, two := claim.NewLocal(home, repoID, claim.NewHostID(), nil), claim.NewLocal(home, repoID, claim.NewHostID(), nil)
	held, err := one.Take(t.Context(), want(12, claim.Running))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(home, "claims")); err != nil {
		t.Fatal(err)
	}
	taken, err := two.Take(t.Context(), want(12, claim.Running))
	if err != nil {
		t.Fatal(err)
	}
	var lost *claim.LostError
	if err := held.Check(t.Context()); !errors.As(err, &lost) || lost.Host != taken.Seen().Claim.Host {
		t.Errorf("check: %v", err)
	}
	closed(t, held.Lost())
	if err := held.Release(t.Context()); !errors.As(err, &lost) {
		t.Errorf("release: %v", err)
	}
	if err := taken.Check(t.Context()); err != nil {
		t.Errorf("the other one: %v", err)
	}
}

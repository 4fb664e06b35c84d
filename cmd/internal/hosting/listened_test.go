package hosting_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
)

// claimOf is a claim that is lost once lost is closed.
type claimOf struct {
	claim.Held
	lost   chan struct{}
	holder string
}

func (c claimOf) Lost() <-chan struct{} { return c.lost }

func (c claimOf) Holder() string { return c.holder }

// ownerOf has a session for issue 1.
type ownerOf struct{ ear.Owner }

func (ownerOf) Find(_ context.Context, number int, _ bool) (ear.Subject, error) {
	if number != 1 {
		return ear.Subject{}, nil
	}
	return ear.Subject{Issue: 1, Dir: "d"}, nil
}

// From the moment another host has the issues, what is said there is for that host, whether it is known or not.
func TestAnIssueWhoseClaimIsLostIsOfAnotherHost(t *testing.T) {
	for holder, want := range map[string]string{"h_2222222222222222": "h_2222222222222222", "": "another host"} {
		var current atomic.Pointer[claim.Held]
		owner := hosting.ClaimedOwner(ownerOf{}, &current)
		find := func(number int) ear.Subject {
			t.Helper()
			s, err := owner.Find(t.Context(), number, false)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		lost := make(chan struct{})
		var held claim.Held = claimOf{lost: lost, holder: holder}
		current.Store(&held)
		if s := find(1); s.Holder != "" {
			t.Errorf("claimed: %+v", s)
		}
		close(lost)
		if s := find(1); s.Holder != want || s.Dir != "d" {
			t.Errorf("lost: %+v, want holder %s", s, want)
		}
		if s := find(2); s != (ear.Subject{}) {
			t.Errorf("another issue: %+v", s)
		}
	}
}

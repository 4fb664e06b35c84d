package claim_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// The name of a repository is taken over by another one that lacks its claims. The host does not take its own for lost,
// beats and claims where its repository is now, and puts nothing into the other one.
func TestGitHub87ClaimsStayWhereTheirRepositoryIs(t *testing.T) {
	w := newWorld(t)
	renamed, seen := false, w.CloneURL(widgets)
	h := w.host(func(o *claim.Options) {
		o.Repo.Locate = func(_ context.Context, ask bool) (string, error) {
			if ask && renamed {
				seen = w.CloneURL("octo/gadgets")
			}
			return seen, nil
		}
	})
	held := w.take(h, 1, claim.Running)
	repo := w.Repo(widgets)
	repo.Rename("gadgets")
	renamed = true
	if err := w.AddRepo(fakehub.RepoSpec{Owner: "octo", Name: "widgets"}); err != nil {
		t.Fatal(err)
	}
	taker := w.Repo(widgets)
	taker.SetRole("bot", fakehub.Admin)
	before := taker.Refs()
	for range 3 {
		_ = h.Beat(t.Context()) // one may fail as it finds out
		h.clock.pass(2 * time.Minute)
		select {
		case <-held.Lost():
			t.Fatal("the claim counts as lost")
		default:
		}
	}
	if err := held.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	w.take(h, 2, claim.Running)
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
	refs := repo.Refs()
	if refs["refs/agentmux/claims/1"] != "" || refs["refs/agentmux/claims/2"] == "" {
		t.Errorf("refs of the repository: %v", refs)
	}
	if now := taker.Refs(); !maps.Equal(now, before) {
		t.Errorf("refs of the one that took its name: %v, before %v", now, before)
	}
}

// A claim that is gone from the repository itself is lost, as soon as the server says that its name leads there.
func TestAClaimThatIsGoneIsLostWhereTheNameLeads(t *testing.T) {
	w := newWorld(t)
	asked := 0
	h := w.host(func(o *claim.Options) {
		o.Repo.Locate = func(_ context.Context, ask bool) (string, error) {
			if ask {
				asked++
			}
			return w.CloneURL(widgets), nil
		}
	})
	held := w.take(h, 1, claim.Running)
	before := asked
	id := w.ref("claims/1")
	if _, err := w.remote().Push(t.Context(), w.store(), remote.PushSpec{Updates: []remote.RefUpdate{{Ref: "refs/agentmux/claims/1", Old: id}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-held.Lost():
	default:
		t.Error("the claim counts as held")
	}
	if asked == before {
		t.Error("the server was not asked where the name leads")
	}
}

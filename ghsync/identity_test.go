package ghsync_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// The token is a canary: whatever arrives anywhere but in Authorization fails the test.
func TestGitHub8NoTokenGoesToAnotherHost(t *testing.T) {
	s := world(t)
	s.Inject(fakehub.Redirect("GET /repos/{owner}/{repo}", http.StatusMovedPermanently, s.OtherURL()+"/repos/octo/widgets"))
	c := clientOf(t, s, botLogin)
	if _, err := c.Repository(t.Context(), "octo", "widgets"); !isMoved(err) {
		t.Errorf("error %v", err)
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("%d requests arrived, want the first alone:\n%s", n, s.Transcript())
	}
	s.Repo(widgets).Rename("gadgets")
	if r, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || r.Name != "gadgets" {
		t.Errorf("on the same host: %+v, %v", r, err)
	}
}

// An app's token lives an hour and is renewed before; each one costs one answer per address.
func TestGitHub12HourlyTokensAreIdleForADay(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	in.server.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c, _ := in.client(t)
	for range 24 * 6 {
		if _, _, err := (ghsync.Intake{Client: c}).RecentIssues(t.Context(), octoWidgets, 1); err != nil {
			t.Fatal(err)
		}
		if _, _, err := (ghsync.Intake{Client: c}).RecentComments(t.Context(), octoWidgets, 1); err != nil {
			t.Fatal(err)
		}
		in.advance(10 * time.Minute)
	}
	counted := in.server.Requests("amx[bot]")
	if in.minted > 29 || counted > 2*in.minted {
		t.Errorf("%d tokens and %d counted requests in a day", in.minted, counted)
	}
	t.Logf("%d tokens, %d counted requests", in.minted, counted)
}

func TestGitHub13IdentitiesShareNoAnswer(t *testing.T) {
	s := world(t, func(o *fakehub.Options) { o.Repos[0].Private = true })
	for range 2 { // the second time there is something to share
		for _, tc := range []struct {
			login string
			admin bool
			sees  bool
		}{{"admin", true, true}, {"write", false, true}, {"none", false, false}, {"admin", true, true}} {
			r, err := clientOf(t, s, tc.login).Repository(t.Context(), "octo", "widgets")
			if tc.sees && (err != nil || r.CanAdmin != tc.admin) || !tc.sees && !transport.IsNotFound(err) {
				t.Errorf("%s: %+v, %v", tc.login, r, err)
			}
		}
	}
	// Nor does one client give another token's answer after its own was renewed.
	in := newInstalled(t, installation.Permissions())
	c, _ := in.client(t)
	for i := range 3 {
		if r, err := c.Repository(t.Context(), "octo", "widgets"); err != nil || r.ID == 0 {
			t.Fatal(err)
		}
		in.advance(51 * time.Minute)
		if full := in.server.Requests("amx[bot]"); full != i+1 {
			t.Errorf("%d full answers for %d tokens", full, i+1)
		}
	}
}

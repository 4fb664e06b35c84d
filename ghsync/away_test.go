package ghsync_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
	"github.com/agentmux/agentmux/ghsync/installation"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// A refused token is replaced once: a read is sent twice, what creates is sent once and comes back
// once. What is refused then is the identity, until a call is accepted.
func TestGitHub85ASecondRefusedTokenIsTheIdentity(t *testing.T) {
	in := newInstalled(t, installation.Permissions())
	n := in.server.Repo(widgets).AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	c, _ := in.client(t)
	read := func() error { _, err := c.Repository(t.Context(), "octo", "widgets"); return err }
	create := func() error {
		_, _, err := (ghsync.Comments{Client: c}).Create(t.Context(), octoWidgets, n, text("x"))
		return err
	}
	sent := func(call func() error) (int, error) {
		in.server.ResetLog()
		err := call()
		count := 0
		for _, r := range in.server.Calls() {
			if r.Status == http.StatusUnauthorized {
				count++
			}
		}
		return count, err
	}
	refused := fakehub.Fault{Status: http.StatusUnauthorized, Message: "Bad credentials"}
	for _, route := range []string{"GET ...", "POST .../issues/{number}/comments"} {
		refused.Route = route
		in.server.Inject(refused)
	}
	if count, err := sent(read); !transport.IsAway(err) || count != 2 {
		t.Errorf("a read was sent %d times: %v", count, err)
	}
	if count, err := sent(read); !transport.IsAway(err) || count != 1 {
		t.Errorf("a read of a refused identity was sent %d times: %v", count, err)
	}
	in.server.Heal()
	if err := read(); err != nil {
		t.Fatal(err)
	}
	in.server.Inject(refused)
	var again *transport.RetryAfter
	if count, err := sent(create); !errors.As(err, &again) || again.Scope != "token" || again.Wait != 0 || count != 1 {
		t.Errorf("what creates was sent %d times: %v", count, err)
	}
	if count, err := sent(create); !transport.IsAway(err) || count != 1 {
		t.Errorf("what creates was sent %d times with the second token: %v", count, err)
	}
	in.server.Heal()
	in.advance(time.Minute)
	if err := create(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

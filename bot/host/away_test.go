package host_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
	"github.com/agentmux/agentmux/orchestrator/engine"
)

// A host that waits for its account tries again however long GitHub refuses that, also where git
// says no more than that it may not; another host gives up as for any fault of the server.
func TestGitHub85AHostWaitsForItsAccount(t *testing.T) {
	refused := &transport.Away{Err: errors.New("Bad credentials")}
	away := func() error { return refused }
	there := func() error { return nil }
	denied, unread := &remote.PushError{Kind: remote.PushDenied}, &remote.ReadError{Kind: remote.PushDenied}
	for name, c := range map[string]struct {
		away func() error
		err  error
		want error
	}{
		"refused":                         {away, refused, engine.Away(refused)},
		"refused, and accepted by now":    {there, refused, engine.Away(refused)},
		"refused, and nothing waits":      {nil, refused, engine.Remote(refused, 0)},
		"push, while refused":             {away, denied, engine.Away(denied)},
		"fetch, while refused":            {away, unread, engine.Away(unread)},
		"push, while accepted":            {there, denied, denied},
		"push, and nothing waits":         {nil, denied, denied},
		"another refusal, while refused":  {away, &transport.Terminal{Status: 422}, engine.Never(&transport.Terminal{Status: 422})},
		"a protected branch, likewise":    {away, &remote.PushError{Kind: remote.PushRule}, &remote.PushError{Kind: remote.PushRule}},
		"the server fails, while refused": {away, &transport.Unsent{Err: refused.Err}, engine.Remote(&transport.Unsent{Err: refused.Err}, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			got := host.Classed(host.Options{Away: c.away}, c.err)
			if has, want := fmt.Sprintf("%T %+v", got, got), fmt.Sprintf("%T %+v", c.want, c.want); has != want {
				t.Errorf("%s, want %s", has, want)
			}
		})
	}
}

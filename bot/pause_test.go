package bot_test

import (
	"errors"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/due"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// A write that GitHub refuses for good is not tried four times a minute, and a limit is waited for.
func TestThePauseIsWhatTheErrorAsksFor(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want time.Duration
	}{
		"it may pass":  {errors.New("no route"), 15 * time.Second},
		"a short wait": {&transport.RetryAfter{Wait: time.Second, Scope: "primary"}, 15 * time.Second},
		"a long wait":  {&transport.RetryAfter{Wait: 20 * time.Minute, Scope: "primary"}, 20 * time.Minute},
		"refused":      {&transport.Terminal{Status: 403, Code: transport.CodeForbidden}, 5 * time.Minute},
		"not there":    {&transport.NotFound{Kind: "issue"}, 5 * time.Minute},
	} {
		if got := due.After(transport.Later(tc.err)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

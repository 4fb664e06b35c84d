package mirror_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// What is refused for good is not told again and again; what passes is.
func TestInsistEndsWithARefusalForGood(t *testing.T) {
	archived := fmt.Errorf("edit: %w", &transport.Terminal{Status: http.StatusForbidden, Code: transport.CodeForbidden, Message: "Repository was archived so is read-only."})
	busy := &transport.RetryAfter{Wait: time.Second, Scope: "server"}
	for name, c := range map[string]struct {
		answers []error // the last one again and again
		calls   int
		want    bool
	}{
		"archived":         {[]error{archived}, 3, false},
		"later archived":   {[]error{busy, archived, archived, busy, archived}, 7, false},
		"refused for once": {[]error{archived, archived, nil}, 3, true},
		"no such account":  {[]error{&transport.Away{Err: archived}, &transport.Away{Err: archived}, &transport.Away{Err: archived}, nil}, 4, true},
		"busy":             {[]error{busy, busy, busy, busy, nil}, 5, true},
		"deleted":          {[]error{mirror.ErrIssueGone}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				calls := 0
				told := mirror.Insist(ctx, func(context.Context, string) (time.Duration, error) {
					calls++
					return 0, c.answers[min(calls, len(c.answers))-1]
				}, "@mia stopped it", slog.New(slog.DiscardHandler))
				if told != c.want || ctx.Err() != nil || calls != c.calls {
					t.Errorf("%v after %d calls, want %v after %d", told, calls, c.want, c.calls)
				}
			})
		})
	}
}

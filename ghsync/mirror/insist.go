package mirror

import (
	"context"
	"errors"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

const insistPause, maxInsistPause = 5 * time.Second, 90 * time.Second // after the first failure, doubled up to

// Insist calls say, Drop or End of a placard, until the issue was told, or cannot be. It reports whether that was
// before ctx ended.
func Insist(ctx context.Context, say func(context.Context, string) (time.Duration, error), why string) bool {
	for failures := 0; ; failures++ {
		next, err := say(ctx, why)
		if err == nil && next == 0 || errors.Is(err, ErrClaimLost) || errors.Is(err, ErrIssueGone) || transport.IsNotFound(err) {
			return true
		}
		if !transport.Wait(ctx, max(next, min(insistPause<<min(failures, 5), maxInsistPause))) {
			return false
		}
	}
}

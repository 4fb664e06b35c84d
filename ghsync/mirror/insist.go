package mirror

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

const insistPause, maxInsistPause = 5 * time.Second, 90 * time.Second // after the first failure, doubled up to

// maxRefusals is how many times in a row a final refusal is heard before it is believed: permissions are changed in
// more than one step.
const maxRefusals = 3

// Insist calls say, Drop or End of a placard, until the issue was told, or cannot be since it or the claim is gone. It
// reports whether that was before ctx ended, and before the server refused it for good, as that of an archived
// repository does.
func Insist(ctx context.Context, say func(context.Context, string) (time.Duration, error), why string, log *slog.Logger) bool {
	for failures, refusals := 0, 0; ; failures++ {
		next, err := say(ctx, why)
		if err == nil && next == 0 || errors.Is(err, ErrClaimLost) || errors.Is(err, ErrIssueGone) || transport.IsNotFound(err) {
			return true
		}
		if refusals++; !errors.As(err, new(*transport.Terminal)) || transport.IsAway(err) {
			refusals = 0
		}
		if refusals == maxRefusals {
			log.Warn("an issue cannot be told", "what", why, "err", err)
			return false
		}
		if !transport.Wait(ctx, max(next, min(insistPause<<min(failures, 5), maxInsistPause))) {
			return false
		}
	}
}

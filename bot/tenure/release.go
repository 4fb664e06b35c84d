package tenure

import (
	"context"
	"errors"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// firstPause is after a release that failed; doubled up to maxPause.
const firstPause, maxPause = 5 * time.Second, 90 * time.Second

// Release gives a claim back, and tries less and less often: an archived repository may refuse it for months. The next
// start finds one that is there when ctx ends.
func Release(ctx context.Context, held claim.Held) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := held.Release(ctx)
		if err == nil || errors.As(err, new(*claim.LostError)) || !transport.Wait(ctx, pause) {
			return
		}
	}
}

package tenure

import (
	"context"
	"errors"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
)

// Release tries to give a claim back until ctx ends, less and less often: an archived repository may refuse it for months.
// One that is lost is given back, too. After an error the next start of the host finds it.
func Release(ctx context.Context, held claim.Held) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := held.Release(ctx)
		if err == nil || errors.As(err, new(*claim.LostError)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

package daemon

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/cmd/internal/exit"
)

// StalledError ends a job whose session could not begin: what keeps it may last, and the runner is for others meanwhile.
// Its request remains, by its label or by the claim of a run that is over, so the next sweep starts a job for it.
type StalledError struct{ Why string }

func (e *StalledError) Error() string {
	return "the session could not begin within 10 minutes: " + e.Why
}

// patience is how long a job tries to begin, and patiencePause is between two looks.
const patience, patiencePause = 10 * time.Minute, 10 * time.Second

// patient returns a context that ends with a [StalledError] when a job's session could not begin for too long. The
// returned function ends the looking.
func patient(ctx context.Context, look func() report.Report) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	go func() {
		tick := time.NewTicker(patiencePause)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if now := time.Now(); now.Sub(began) >= patience {
				if why := stalled(look(), now); why != "" {
					cancel(&StalledError{why})
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stalled says what keeps a job from beginning a session; "" for one that has begun or that waits for nothing.
func stalled(r report.Report, now time.Time) string {
	switch {
	case len(r.Sessions) > 0 || r.Pending > 0:
		return ""
	case r.Tickets > 0 && r.Oldest >= patience && r.Waits != "":
		return "it waits " + r.Waits
	case r.Tickets > 0:
		return ""
	}
	return strings.Join(r.Problems(now), "; ")
}

// serve runs the bot of a job.
func (j *Job) serve(ctx context.Context, b *bot.Bot) error {
	ctx, end := patient(ctx, b.Report)
	defer end()
	if err := b.Run(ctx); err != nil {
		return exit.Usage(err)
	}
	j.Ended(b.Report())
	if why := new(StalledError); errors.As(context.Cause(ctx), &why) {
		return &exit.Error{Code: exit.NeedsHuman, Err: why}
	}
	return nil
}

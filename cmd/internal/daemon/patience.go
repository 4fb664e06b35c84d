package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentmux/agentmux/bot"
	"github.com/agentmux/agentmux/bot/handover"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/cmd/internal/exit"
)

// StalledError ends a job whose session could not begin: what keeps it may last, and the runner is for others meanwhile.
// Its request remains, by its label or by the claim of a run that is over, so the next sweep starts a job for it.
type StalledError struct{ Why string }

func (e *StalledError) Error() string {
	return "the session could not begin within 10 minutes: " + e.Why
}

// FullError ends a job whose disk became full: its session was let go of, and the next sweep starts a job that continues.
type FullError struct{ Why string }

func (e *FullError) Error() string {
	return "the disk of this runner is full (" + e.Why + "); make room on it, or give the runner a larger one"
}

// patience is how long a job tries to begin, and patiencePause is between two looks.
const patience, patiencePause = 10 * time.Minute, 10 * time.Second

// patient returns a context that ends with a [StalledError] when a job has had no session for too long, although something
// asks for one. warned is what went wrong last. The returned function ends the looking.
func patient(ctx context.Context, look func() report.Report, warned func() string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(patiencePause)
		defer tick.Stop()
		for idle := time.Now(); ; { // since when there is no session
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			now, r := time.Now(), look()
			if len(r.Sessions) > 0 || r.Pending > 0 {
				idle = now
			}
			if now.Sub(idle) >= patience {
				if why := stalled(r, now, warned()); why != "" {
					cancel(&StalledError{why})
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stalled says what keeps a job without a session from beginning one; "" if that may be about to begin.
func stalled(r report.Report, now time.Time, warned string) string {
	switch problems := r.Problems(now); {
	case r.Tickets > 0 && r.Oldest >= patience && r.Waits != "":
		return "it waits " + r.Waits
	case r.Tickets > 0 || r.Taken > 0:
		return ""
	case len(problems) > 0:
		return strings.Join(problems, "; ")
	}
	return cmp.Or(warned, "the issue could not be judged")
}

// serve runs the bot of a job.
func (j *Job) serve(ctx context.Context, b *bot.Bot) error {
	ctx, end := patient(ctx, b.Report, j.warned.last)
	defer end()
	err := b.Run(ctx)
	if full := new(handover.FullError); errors.As(err, &full) {
		return &exit.Error{Code: exit.NeedsHuman, Err: &FullError{full.Err.Error()}}
	}
	if err != nil {
		return exit.Usage(err)
	}
	j.Ended(b.Report())
	if why := new(StalledError); errors.As(context.Cause(ctx), &why) {
		return &exit.Error{Code: exit.NeedsHuman, Err: why}
	}
	return nil
}

// warnings remembers the last warning of a log.
type warnings struct{ text atomic.Pointer[string] }

func (w *warnings) last() string {
	if text := w.text.Load(); text != nil {
		return *text
	}
	return ""
}

// of returns a log whose warnings are remembered.
func (w *warnings) of(log *slog.Logger) *slog.Logger { return slog.New(heard{log.Handler(), w}) }

// heard passes records on.
type heard struct {
	slog.Handler
	by *warnings
}

// Enabled takes warnings that the log itself leaves out.
func (h heard) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

func (h heard) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "err" {
				text += ": " + a.Value.String()
			}
			return true
		})
		h.by.text.Store(&text)
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h heard) WithAttrs(attrs []slog.Attr) slog.Handler {
	return heard{h.Handler.WithAttrs(attrs), h.by}
}

func (h heard) WithGroup(name string) slog.Handler { return heard{h.Handler.WithGroup(name), h.by} }

package bot

import (
	"context"
	"log/slog"

	"github.com/agentmux/agentmux/bot/report"
)

// Loop runs the loop of a bot that does nothing else until it ends, and returns how many panics were counted.
func Loop(ctx context.Context, log *slog.Logger, run func()) int {
	b := &Bot{Options: Options{Log: log}}
	b.loop(ctx, run)
	b.work.Wait()
	var r report.Report
	b.counts.Into(&r)
	return r.Panics
}

package show

import (
	"context"
	"slices"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Entry returns the session that args name; without a name the one that runs, else the one that
// changed last. If more than one runs, it returns them as running.
func Entry(ctx context.Context, a *site.Finder, args []string) (entry session.Entry, running []session.Entry, err error) {
	if len(args) > 0 {
		entry, err = a.Find(ctx, args, nil)
		return entry, nil, err
	}
	entries, err := a.Sessions(ctx)
	if err != nil {
		return entry, nil, err
	}
	running = slices.DeleteFunc(slices.Clone(entries), func(e session.Entry) bool { return !site.Live(e) })
	switch {
	case len(running) > 1:
		return entry, running, nil
	case len(running) == 1:
		return running[0], nil, nil
	case len(entries) == 0:
		return entry, nil, &session.NotFoundError{}
	}
	return slices.MaxFunc(entries, func(a, b session.Entry) int { return touched(a).Compare(touched(b)) }), nil, nil
}

// touched returns when a session changed last; the zero time if it cannot be read.
func touched(e session.Entry) time.Time {
	if e.State == nil {
		return time.Time{}
	}
	return EndedAt(e)
}

// Package upkeep removes what ended long ago from a managed project, so that a bot can be left running.
// It is used by the bot, once a day for each repository. A person's clone is not touched: there
// agentmux clean does it when it is asked.
//
// A session goes when it has its result or failed, its end is shown on GitHub, nothing of it is unread,
// and its last change is older than session.keep. One that waits for a person stays. Work that is in no
// branch stays in the host repository, below refs/agentmux/preserved.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Remover removes a session, and what nothing refers to any more; see [host.Host].
type Remover interface {
	Remove(ctx context.Context, dir string, c *config.Config) (work.Removed, error)
	Collect(ctx context.Context, project string, c *config.Config) error
}

// Options are what one round needs; all are required.
type Options struct {
	Project string         // directory of the managed project
	Config  *config.Config // of the machine; Session.Keep of 0 keeps everything
	Remover Remover
	Now     func() time.Time
	Log     *slog.Logger
}

// Once removes what may go and returns the directories that are gone. What fails stays for the next
// day; the error says what.
func Once(ctx context.Context, o Options) (gone []string, err error) {
	keep := o.Config.Session.Keep
	if keep == 0 {
		return nil, nil
	}
	entries, err := session.List(o.Project)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, e := range entries {
		if ctx.Err() != nil {
			return gone, ctx.Err()
		}
		if !mayGo(e, o.Now().Add(-keep)) {
			continue
		}
		_, err := o.Remover.Remove(ctx, e.Dir, o.Config)
		switch {
		case errors.As(err, new(*session.LockedError)): // it was taken up meanwhile
		case err != nil:
			problems = append(problems, fmt.Errorf("%s stays: %w", e.Name, err))
		default:
			o.Log.Info("an old session is removed", "session", e.Name, "ended", e.State.UpdatedAt)
			gone = append(gone, e.Dir)
		}
	}
	if len(gone) > 0 {
		problems = append(problems, o.Remover.Collect(ctx, o.Project, o.Config))
	}
	return gone, errors.Join(problems...)
}

// mayGo reports whether a session ended before a time and owes nothing.
func mayGo(e session.Entry, before time.Time) bool {
	if e.State == nil || e.Running || !host.Removable(e.State) || len(e.State.Pending) > 0 {
		return false
	}
	if e.State.Shown() && !mirror.Shown(e.Dir, e.State.Seq) || len(host.Unread(e.Dir, e.State)) > 0 {
		return false
	}
	at, err := time.Parse(time.RFC3339, e.State.UpdatedAt)
	return err == nil && at.Before(before)
}

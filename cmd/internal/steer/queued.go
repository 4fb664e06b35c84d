package steer

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/bot/bell"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// dropQueued has the bot drop a request that waits for a slot. A bot that does not run drops it when it starts. One that got
// its slot meanwhile is a session, which is stopped.
func dropQueued(ctx context.Context, a *site.Finder, q site.Queued, stop orchestrator.Payload) error {
	shelf := ticket.Of(q.Project)
	t, err := shelf.Read(q.Issue)
	waits := err == nil && t.Session == q.Session
	if waits {
		err = shelf.Stop(t, Actor()+" stopped it at a terminal", time.Now())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	gone := !waits
	if waits {
		if !bell.Heard(q.Project) {
			a.Say("recorded; agentmux bot takes it out of the queue when it runs")
			return nil
		}
		if err := bell.Ring(q.Project, q.Session); err != nil {
			return err
		}
		gone = until(ctx, wokenWait, func() bool {
			t, err := shelf.Read(q.Issue)
			return errors.Is(err, fs.ErrNotExist) || err == nil && t.Session != q.Session
		})
	}
	switch e, began := session.At(q.Project, filepath.Join(session.Dir(q.Project), q.Session)); {
	case ctx.Err() != nil:
		return ctx.Err()
	case !gone:
		a.Say("recorded; the bot has not taken it out of the queue yet")
		return nil
	case began && e.State != nil && !e.State.Ended():
		return give(ctx, a, e, stop)
	}
	a.Say("stop: done")
	return nil
}

package crew

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/tmux"
)

// controlPause is the time between two looks at the monitor's window.
const controlPause = 5 * time.Second

// StartControl keeps the monitor until stop is called, which waits.
func (r *Crew) StartControl(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { r.panes.keepControl(ctx, r.Log) })
	return func() { cancel(); done.Wait() }
}

// keepControl starts the monitor of a session again when it has ended, until ctx does: people
// come back to its window to answer. It makes no server; who needs one does.
func (p *panes) keepControl(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(controlPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := p.revive(ctx); err != nil && ctx.Err() == nil {
			log.Debug("the monitor is not there", slog.String("session", p.sess.Name()), slog.Any("err", err))
		}
	}
}

// revive starts the program of the control window again if it is not running.
func (p *panes) revive(ctx context.Context) error {
	all, err := p.server.Panes(ctx)
	if err != nil {
		return err
	}
	ours := func(pane tmux.Pane) bool { return pane.Session == p.name }
	runs := func(pane tmux.Pane) bool { return ours(pane) && pane.Options[tagRole] == roleControl && !pane.Dead }
	if !slices.ContainsFunc(all, ours) || slices.ContainsFunc(all, runs) {
		return nil
	}
	_, err = p.server.Ensure(ctx, tmux.SessionSpec{Name: p.name, Window: p.control})
	return err
}

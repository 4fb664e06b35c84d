package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// ErrHandOver, as the cause of a context, has a session let go of for another host: its agents are ended
// and it is saved, without an outcome.
var ErrHandOver = errors.New("the session is handed over to another host")

// IsHandOver reports whether ctx ended because the session is to be handed over.
func IsHandOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrHandOver) }

const (
	handOverTime  = 2 * time.Minute
	handOverPause = 2 * time.Second // until the next try to bring the checkpoint to the server
)

// handOver ends the agents and saves the session with what they have not handed in. What fails is for
// the log: the next host has an older checkpoint then.
func (r *runner) handOver(ctx context.Context, s *orchestrator.State) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverTime)
	defer cancel()
	err := errors.Join(r.crew.EndLaunches(ctx, s), r.crew.RemoveServer(ctx))
	e := orchestrator.Effect{Type: orchestrator.EffCheckpoint}
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		if w := s.Workspaces[name]; !duty.IsView(name) && w.Path != "" && w.Used == s.Visit {
			e.Args.Paths = append(e.Args.Paths, name)
		}
	}
	for {
		res, saveErr := r.work.Checkpoint(ctx, e, s)
		if saveErr == nil && res.Skipped != "" {
			select {
			case <-ctx.Done():
			case <-time.After(handOverPause):
				continue
			}
		}
		if err = errors.Join(err, saveErr); err != nil {
			r.Log.Warn("not everything was handed over", "session", r.sess.Name(), "err", err)
		}
		return
	}
}

package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

const (
	// look is the time between two looks at something that has no event.
	look = 5 * time.Millisecond
	// ask is that between two questions to tmux.
	ask = 100 * time.Millisecond
)

// StopAgent ends a launch. One that has ended by itself is cleared away at once; any
// other may finish its words for a moment, unless the session is over.
func (r *Crew) StopAgent(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	if !s.Ended() {
		r.awaitEnd(ctx, a.Launch)
	}
	if err := r.endLaunch(ctx, orchestrator.AgentKey(a.Role, a.Task), a.Launch); err != nil {
		return orchestrator.Result{}, err
	}
	r.noteUsage(a.Launch)
	exit, _, err := agent.ReadExit(r.launchDir(a.Launch))
	return orchestrator.Result{ExitCode: exit.Code, Signal: exit.Signal}, err
}

// noteUsage keeps what the program says it has used, for people.
func (r *Crew) noteUsage(launch string) {
	usage := r.signals.status(r.launchDir(launch), launch).Usage
	if usage == nil {
		return
	}
	data, err := json.MarshalIndent(usage, "", "  ")
	if err == nil {
		err = r.sess.View(path.Join(session.LaunchesDir, launch, "usage.json"), append(data, '\n'))
	}
	if err != nil {
		r.Log.Warn("usage not noted", "session", r.sess.Name(), "launch", launch, "err", err)
	}
}

// awaitEnd waits until the launch has ended or its turn is over, at most Pause.
func (r *Crew) awaitEnd(ctx context.Context, launch string) {
	if !r.prepared(launch) {
		return
	}
	limit := time.NewTimer(r.Pause)
	defer limit.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for asked := time.Now(); !r.atRest(launch); {
		if time.Since(asked) >= ask {
			if !r.runs(ctx, launch) {
				return
			}
			asked = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-limit.C:
			return
		case <-tick.C:
		}
	}
}

// atRest reports whether the launch itself says that nothing of its work can be cut off
// any more.
func (r *Crew) atRest(launch string) bool {
	if _, ended, err := agent.ReadExit(r.launchDir(launch)); err != nil || ended {
		return true
	}
	status := r.signals.status(r.launchDir(launch), launch)
	return status.State == agent.Idle && status.TurnEnds > 0
}

// runs reports whether tmux knows a live pane of the launch.
func (r *Crew) runs(ctx context.Context, launch string) bool {
	pane, found, err := r.panes.find(ctx, launch)
	return err == nil && found && !pane.Dead
}

// endLaunch leaves no process of the launch and no pane. It may be called for a launch
// that never ran.
func (r *Crew) endLaunch(ctx context.Context, key, launch string) error {
	pane, found, err := r.panes.find(ctx, launch)
	if err != nil && !errors.Is(err, tmux.ErrNoAnswer) {
		return fmt.Errorf("stop %s: %w", launch, err)
	}
	_, unknown := agent.ReadLaunch(r.launchDir(launch))
	if process := r.panes.process(pane, found, key, launch); process.PID > 0 && unknown == nil {
		if err := agent.Stop(ctx, process, r.launchDir(launch)); err != nil {
			return err
		}
		crash.Point("stop agent", launch)
	}
	if found {
		if err := r.panes.server.KillPane(ctx, pane.ID); err != nil {
			return fmt.Errorf("stop %s: %w", launch, err)
		}
	}
	// The place of its files follows from that of the launch; what launch.json says of it counts
	// only for a socket there at which nothing listens.
	if err := agent.Unprepared(r.RuntimeDir, r.launchDir(launch)).Discard(); err != nil {
		return err
	}
	crash.Point("discard launch", launch)
	return r.panes.forget(key, launch)
}

// stopStrays ends those launches that the state does not know, as a killed host may leave
// them.
func (r *Crew) stopStrays(ctx context.Context, found map[string]tmux.Pane, s *orchestrator.State) error {
	known := map[string]bool{}
	for _, a := range s.Agents {
		known[a.Launch] = true
	}
	for _, e := range s.Pending {
		known[e.Args.Launch] = true
	}
	var errs []error
	for launch, pane := range found {
		if known[launch] {
			continue
		}
		key := orchestrator.AgentKey(pane.Options[tagRole], pane.Options[tagTask])
		r.Log.Info("stopping an agent the session does not know", "session", r.sess.Name(), "launch", launch)
		errs = append(errs, r.endLaunch(ctx, key, launch))
	}
	return errors.Join(errs...)
}

// prepared reports whether the launch may have a pane: its record is written first.
func (r *Crew) prepared(launch string) bool {
	_, err := agent.ReadLaunch(r.launchDir(launch))
	return !errors.Is(err, fs.ErrNotExist)
}

func (r *Crew) launchDir(launch string) string { return r.sess.Path("launches", launch) }

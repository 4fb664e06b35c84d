package crew

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
	"github.com/agentmux/agentmux/internal/agent/process"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/usage"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

const (
	// checkPause is the time between two checks of something without events.
	checkPause = 5 * time.Millisecond
	// askPause is the time between two questions whether a launch still runs.
	askPause = 100 * time.Millisecond
)

// StopAgent ends a launch. One that has submitted may end its turn before, unless the session
// has ended.
func (r *Crew) StopAgent(ctx context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	if a.Leaving {
		r.awaitEnd(ctx, orchestrator.KeyOf(a.Role, a.Task), a.Launch)
	}
	if err := r.endLaunch(ctx, orchestrator.KeyOf(a.Role, a.Task), a.Launch); err != nil {
		return orchestrator.Result{}, err
	}
	exit, _, err := agent.ReadExit(r.launchDir(a.Launch))
	return orchestrator.Result{ExitCode: exit.Code, Signal: exit.Signal, Usage: r.noteUsage(a.Launch)}, err
}

// noteUsage writes what the launch has used for people, and returns it; nil if its program tells nothing.
func (r *Crew) noteUsage(launch orchestrator.Launch) *usage.Usage {
	spent, err := agent.Spent(r.launchDir(launch))
	if err == nil && spent != nil {
		err = r.sess.View(path.Join(session.LaunchesDir, string(launch), "usage.json"), spent.JSON())
	}
	if err != nil {
		r.Log.Warn("usage not noted", "session", r.sess.Name(), "launch", launch, "err", err)
	}
	return spent
}

// EndSubmitted ends a launch as StopAgent does one that has submitted. It leaves what the launch
// has outside of the session directory to StopAgent.
func (r *Crew) EndSubmitted(ctx context.Context, key orchestrator.AgentKey, launch orchestrator.Launch) error {
	r.awaitEnd(ctx, key, launch)
	_, err := r.endProcesses(ctx, key, launch)
	return err
}

// awaitEnd waits until the launch has ended, its turn is over, or the session has ended, for at
// most agents.linger. While other agents are being started they come first: for that time even a
// launch that has ended stays in its pane.
func (r *Crew) awaitEnd(ctx context.Context, key orchestrator.AgentKey, launch orchestrator.Launch) {
	if !r.prepared(launch) || r.state().Ended() {
		return
	}
	limit := time.NewTimer(r.cfg.Agents.Linger)
	defer limit.Stop()
	tick := time.NewTicker(checkPause)
	defer tick.Stop()
	for asked := time.Now(); !r.state().Ended() && (starting(r.state()) || !r.signals.AtRest(r.launchDir(launch), launch)); {
		if time.Since(asked) >= askPause {
			if !r.panes.runs(ctx, key, launch) {
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

// starting reports whether an agent is to be started, and waits for nothing but what comes before
// it.
func starting(s *orchestrator.State) bool {
	return slices.ContainsFunc(s.Pending, func(e orchestrator.Effect) bool {
		return e.Type == orchestrator.EffStartAgent && e.NotBefore.IsZero()
	})
}

// runs reports whether the agent-exec of the launch runs, or where it was not noted, whether tmux
// has a live pane of it.
func (p *panes) runs(ctx context.Context, key orchestrator.AgentKey, launch orchestrator.Launch) bool {
	if noted := p.process(tmux.Pane{}, false, key, launch); noted.PID > 0 {
		start, err := process.StartTime(noted.PID)
		return err == nil && start == noted.Start
	}
	pane, found, err := p.find(ctx, launch)
	return err == nil && found && !pane.Dead
}

// endLaunch ends the processes of a launch and its pane. It may be called for a launch that
// never ran.
func (r *Crew) endLaunch(ctx context.Context, key orchestrator.AgentKey, launch orchestrator.Launch) error {
	pane, err := r.endProcesses(ctx, key, launch)
	if err != nil {
		return err
	}
	if pane.ID != "" {
		if err := r.panes.server.KillPane(ctx, pane.ID); err != nil {
			return fmt.Errorf("stop %s: %w", launch, err)
		}
	}
	// The paths of its files are derived from the launch directory. launch.json decides only the
	// name of a socket in the runtime directory, and only if nothing listens there.
	if err := agent.Unprepared(r.RuntimeDir, r.launchDir(launch)).Discard(); err != nil {
		return err
	}
	crash.Point("discard launch", string(launch))
	return r.panes.forget(key, launch)
}

// endProcesses ends the processes of a launch and returns its pane, if it has one.
func (r *Crew) endProcesses(ctx context.Context, key orchestrator.AgentKey, launch orchestrator.Launch) (tmux.Pane, error) {
	pane, found, err := r.panes.find(ctx, launch)
	if err != nil && !errors.Is(err, tmux.ErrNoAnswer) {
		return tmux.Pane{}, fmt.Errorf("stop %s: %w", launch, err)
	}
	_, unknown := agent.ReadLaunch(r.launchDir(launch))
	if process := r.panes.process(pane, found, key, launch); process.PID > 0 && unknown == nil {
		if err := agent.Stop(ctx, process, r.launchDir(launch)); err != nil {
			return tmux.Pane{}, err
		}
		crash.Point("stop agent", string(launch))
	}
	return pane, nil
}

// stopStrays ends launches that the state does not know, which a killed host may leave.
func (r *Crew) stopStrays(ctx context.Context, found map[orchestrator.Launch]tmux.Pane, s *orchestrator.State) error {
	known := map[orchestrator.Launch]bool{}
	for _, a := range s.Agents {
		known[a.Launch] = true
	}
	for launch := range s.Leaving {
		known[launch] = true
	}
	for _, e := range s.Pending {
		known[e.Args.Launch] = true
	}
	var errs []error
	for launch, pane := range found {
		if known[launch] {
			continue
		}
		key := orchestrator.KeyOf(pane.Options[tagRole], pane.Options[tagTask])
		r.Log.Info("stopping an agent the session does not know", "session", r.sess.Name(), "launch", launch)
		errs = append(errs, r.endLaunch(ctx, key, launch))
	}
	return errors.Join(errs...)
}

// prepared reports whether the launch may have a pane: its record is written before.
func (r *Crew) prepared(launch orchestrator.Launch) bool {
	_, err := agent.ReadLaunch(r.launchDir(launch))
	return !errors.Is(err, fs.ErrNotExist)
}

func (r *Crew) launchDir(launch orchestrator.Launch) string {
	return r.sess.Path("launches", string(launch))
}

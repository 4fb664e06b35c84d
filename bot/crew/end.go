package crew

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/tmux"
)

// Open prepares access to the tmux server of the session, whether or not it runs.
func (r *Crew) Open(s *orchestrator.State) (err error) {
	if r.panes, err = openPanes(r.Options, r.sess, s); err == nil {
		r.panes.main = mainWindow(r, s)
	}
	return err
}

// TakePanes starts the server unless it runs, remembers which launches ended with a former
// server, and ends launches of this session that the state does not know and commands of the
// project that a killed host left.
func (r *Crew) TakePanes(ctx context.Context, s *orchestrator.State) error {
	if err := r.chores().EndFormer(ctx); err != nil {
		return err
	}
	if _, err := r.panes.list(ctx); err != nil {
		return r.panes.serverGone(ctx, err, duty.Launches(s))
	}
	found, err := r.panes.ensure(ctx)
	if err != nil {
		return err
	}
	return r.stopStrays(ctx, found, s)
}

// LetGo ends the server of a session that stopped before anything of it was begun, unless a person is attached.
func LetGo(ctx context.Context, r *Crew, s *orchestrator.State) {
	if len(s.Agents) > 0 || len(s.Pending) > 0 || len(s.Workspaces) > 0 {
		return
	}
	if err := r.ClosePanes(ctx, 2*time.Second, false); err != nil && !errors.Is(err, tmux.ErrNoServer) {
		r.Log.Warn("tmux server not ended", "session", r.sess.Name(), "err", err)
	}
}

// EndLaunches ends every agent and removes what a launch has outside of the session directory.
// A host that was killed at the end may have left both.
func (r *Crew) EndLaunches(ctx context.Context, s *orchestrator.State) error {
	keys := map[orchestrator.Launch]orchestrator.AgentKey{}
	for _, e := range s.Pending {
		keys[e.Args.Launch] = orchestrator.KeyOf(e.Args.Role, e.Args.Task)
	}
	for key, a := range s.Agents {
		keys[a.Launch] = key
	}
	for launch, l := range s.Leaving {
		keys[launch] = orchestrator.KeyOf(l.Role, l.Task)
	}
	delete(keys, "")
	for _, launch := range slices.Sorted(maps.Keys(keys)) {
		if err := r.endLaunch(ctx, keys[launch], launch); err != nil {
			return err
		}
	}
	found, err := r.panes.list(ctx)
	if err == nil {
		err = r.stopStrays(ctx, found, s)
	}
	if unreachable(err) || errors.Is(err, tmux.ErrNoAnswer) {
		return nil // the server's own end ends them
	}
	return err
}

// EndServer ends the server of a session whose directory was removed, even with people attached:
// no later command could find it.
func (r *Crew) EndServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseTime)
	defer cancel()
	r.recorders.Finish(ctx)
	if err := r.panes.kill(ctx); err != nil && !errors.Is(err, tmux.ErrNoServer) {
		return fmt.Errorf("end the tmux server: %w", err)
	}
	return nil
}

// CloseTime is how long the server of a finished session may take to answer.
const CloseTime = 20 * time.Second

// ClosePanes ends the server of a finished session unless a person is attached. With force it
// also ends a server that does not answer whether one is. A server that has ended may have left
// files, if the host was killed meanwhile.
func (r *Crew) ClosePanes(ctx context.Context, limit time.Duration, force bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	attached, err := r.panes.server.Attached(ctx)
	deaf := force && errors.Is(err, tmux.ErrNoAnswer)
	if attached || err != nil && !deaf && !unreachable(err) {
		return err
	}
	return r.panes.kill(ctx)
}

// RemoveServer ends the tmux server with the monitor that a person may have left open.
func (r *Crew) RemoveServer(ctx context.Context) error {
	if err := r.panes.kill(ctx); err != nil && !errors.Is(err, tmux.ErrNoServer) {
		return err
	}
	return nil
}

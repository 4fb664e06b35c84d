package steer

import (
	"context"
	"os"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// hostPause is the time between two checks whether a host has ended.
const hostPause = 50 * time.Millisecond

// endUnreadable stops a session whose state cannot be read: it tells its host if one runs, and ends
// the agents and the server that are left without one.
func endUnreadable(ctx context.Context, a *site.Finder, e session.Entry) error {
	if e.Running {
		if err := stopBlind(e); err != nil {
			return err
		}
		if !awaitUnhosted(ctx, e) {
			a.Say("recorded; the session's host has not ended yet (agentmux logs %s)", e.Name)
			return ctx.Err()
		}
		if now, err := session.Find(site.ProjectOf(e), e.Dir, nil); err == nil && now.Err == nil {
			a.Say("stop: done")
			return nil // the host had the state and wrote it
		}
	}
	a.Project = site.ProjectOf(e)
	s, err := a.Cleaner(ctx)
	if err != nil {
		return err
	}
	return hosting.EndAgents(ctx, a, s, e)
}

// stopBlind records a stop for a host whose state file was damaged while it runs.
func stopBlind(e session.Entry) error {
	sess, err := session.OpenDamaged(e.Dir)
	if err != nil {
		return err
	}
	line := session.NewLine{Tool: "command", Payload: orchestrator.Payload{
		Name: "stop", Actor: Actor(), Source: "cli", SourceID: "cli/" + RandomID(), PID: os.Getpid(), Origin: Origin(),
	}}
	return sess.AppendSeen(session.Commands, time.Now(), orchestrator.NewState(), func(session.Tail) (*session.NewLine, error) { return &line, nil })
}

// awaitUnhosted waits for the host of a session to end, and reports whether it did in time.
func awaitUnhosted(ctx context.Context, e session.Entry) bool {
	return until(ctx, decisionWait, func() bool { return !session.Running(e.Dir) })
}

// hostWait is how long a command waits for the host of a start that may be under way.
const hostWait = 2 * time.Second

// awaitHost waits for the first host of a session, and reports whether one came in time: a start that was
// cut short brings none.
func awaitHost(ctx context.Context, e session.Entry) bool {
	return until(ctx, hostWait, func() bool { return session.Running(e.Dir) })
}

// until waits until something is so, and reports whether it was in time.
func until(ctx context.Context, wait time.Duration, is func() bool) bool {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	tick := time.NewTicker(hostPause)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return false
		case <-limit.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

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

// hostPause is between two looks at whether a host has ended.
const hostPause = 50 * time.Millisecond

// endUnreadable stops a session whose state cannot be read: its host, if it lives, is told, and
// what is left without one is ended.
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

// stopBlind records a stop for a host whose state file somebody damaged under it.
func stopBlind(e session.Entry) error {
	sess, err := session.OpenDamaged(e.Dir)
	if err != nil {
		return err
	}
	return sess.AppendBlind(session.Commands, time.Now(), session.NewLine{Tool: "command", Payload: orchestrator.Payload{
		Name: "stop", Actor: Actor(), Source: "cli", SourceID: "cli/" + RandomID(), PID: os.Getpid(), Origin: Origin(),
	}})
}

// awaitUnhosted reports whether the host of a session ended while a command waits.
func awaitUnhosted(ctx context.Context, e session.Entry) bool {
	limit := time.NewTimer(decisionWait)
	defer limit.Stop()
	tick := time.NewTicker(hostPause)
	defer tick.Stop()
	for session.Running(e.Dir) {
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

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// hostPause is between two looks at whether a host has ended.
const hostPause = 50 * time.Millisecond

// endUnreadable stops a session whose state cannot be read: its host, if it lives, is told, and
// what is left without one is ended.
func endUnreadable(ctx context.Context, a *app, e session.Entry) error {
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
	return endAgents(ctx, a, s, e)
}

// endAgents ends the agents and the server of a session that nobody can read, and says so.
func endAgents(ctx context.Context, a *app, s *site.Site, e session.Entry) error {
	ended, err := s.Host.End(ctx, e.Dir)
	if err != nil {
		return err
	}
	a.Say("%s of its agents and its tmux server are ended; its files stay: %v", console.Counted(ended, "process", "processes"), e.Err)
	return nil
}

// endCorrupt ends what corrupt sessions of a project have running. They themselves stay: what
// their work is cannot be told.
func endCorrupt(ctx context.Context, a *app, s *site.Site, out *cleanJSON) error {
	entries, err := session.List(s.Project)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.Running || !exit.As[*session.CorruptError](e.Err) {
			continue
		}
		err := endAgents(ctx, a, s, e)
		if exit.As[*session.LockedError](err) {
			continue // somebody has it since
		}
		errs = append(errs, err)
		out.Stays = append(out.Stays, stayingJSON{e.Name, a.Shown()(e.Condition())})
	}
	return errors.Join(errs...)
}

// stopBlind records a stop for a host whose state file somebody damaged under it.
func stopBlind(e session.Entry) error {
	sess, err := session.OpenDamaged(e.Dir)
	if err != nil {
		return err
	}
	return sess.AppendBlind(session.Commands, time.Now(), session.NewLine{Tool: "command", Payload: orchestrator.Payload{
		Name: "stop", Actor: actor(), Source: "cli", SourceID: "cli/" + randomID(), PID: os.Getpid(), Origin: origin(),
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

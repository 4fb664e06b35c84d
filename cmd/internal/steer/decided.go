package steer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

const (
	// decisionWait is how long a command waits for the session's decision about it.
	decisionWait = 5 * time.Second
	// wokenWait is the same where the bot has to claim the issue and to run the session first.
	wokenWait = time.Minute
)

// record appends a command for the session, unless the session would refuse it, or it asks for changes of a pull request that
// is not open. at is the site of the session's project if that was opened for it, else nil.
func record(ctx context.Context, a *site.Finder, e session.Entry, p orchestrator.Payload) (at *site.Site, err error) {
	var refused *command.RefusedError
	err = foresee(e, p)
	if err == nil && p.Name == "changes" && !e.Running {
		at, err = hosting.PullOpen(ctx, a, nil, e)
	}
	if err == nil {
		_, err = command.Append(e.Dir, p)
	}
	if errors.As(err, &refused) {
		err = exit.Usage(fmt.Errorf("%s: %s; next: %s", e.Name, refused.Reason, show.Tell(ctx, e).Next()))
	}
	return at, err
}

// foresee fails with a *command.RefusedError if the session would refuse the command. If a host
// runs, the host decides; an empty text is refused in any case.
func foresee(e session.Entry, p orchestrator.Payload) error {
	if fault := command.TextFault(p.Name, p.Args.Text); fault != "" {
		return &command.RefusedError{Reason: fault}
	}
	switch {
	case e.Running || e.State == nil:
		return nil
	case site.Served(e): // it reads the command before anything else
		if !e.State.Ended() {
			return nil
		}
		return command.Foresee(e.Dir, e.State, p, false)
	}
	return command.Foresee(e.Dir, e.State, p, !command.Wakes(e.State, p.Name))
}

// wakeParked starts a host for a session without one, parked or with a pull request, if the command
// is one that such a session obeys.
func wakeParked(ctx context.Context, a *site.Finder, e session.Entry, name string) error {
	now, err := session.Find(site.ProjectOf(e), e.Name, nil)
	if err != nil || now.State == nil || now.Running || !command.Wakes(now.State, name) {
		return err
	}
	return hosting.Wake(ctx, a, now)
}

// given is a recorded command of a person who waits for what happens to it.
type given struct {
	*site.Finder
	orchestrator.Payload
	site *site.Site // of the session's project, once a host was started
}

// applyUnhosted starts a host for the command, if it is one that does.
func (g *given) applyUnhosted(ctx context.Context, e session.Entry) error {
	if !command.Wakes(e.State, g.Name) {
		g.Say("recorded; it is applied when the session continues: agentmux resume %s", e.Name)
		return nil
	}
	if g.site == nil {
		var err error
		if g.site, err = g.SiteOf(ctx, e); err != nil {
			return err
		}
	}
	if err := hosting.Detach(ctx, g.Finder, g.site, e.Dir); err != nil {
		return err
	}
	return g.awaitDecision(ctx, e)
}

// applyLeft applies a command that the last host left unread.
func (g *given) applyLeft(ctx context.Context, e session.Entry) error {
	now, err := session.Find(site.ProjectOf(e), e.Dir, nil)
	switch {
	case err != nil:
		return err
	case now.Err != nil:
		return now.Err
	case now.Running, site.Served(now): // another command started the next host, or a bot did
		return g.awaitDecision(ctx, e)
	}
	err = g.applyUnhosted(ctx, now)
	if err != nil && session.Running(e.Dir) {
		return g.awaitDecision(ctx, e)
	}
	return err
}

// fate is what happened to a command.
type fate int

const (
	fateUnread  fate = iota // the host has not read it in time
	fateLeft                // the host ended and had not read it
	fateApplied             // the session did it
)

// fateOf follows the session's records until one names the command. A refusal is an error.
func fateOf(ctx context.Context, e session.Entry, p orchestrator.Payload) (fate, error) {
	results, err := command.ResultsOf(e.Dir, e.State.Seq)
	if err != nil {
		return fateUnread, err
	}
	deadline := time.NewTimer(decisionWait)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for woken := false; ; {
		left := !session.Running(e.Dir) // before the records: what this host wrote is there
		served := left && site.Served(e)
		if err := results.Read(); err != nil {
			return fateUnread, err
		}
		became, known := results.Of(p.SourceID)
		switch {
		case known && became.Result == story.CommandRefused:
			return fateApplied, errors.New(p.Name + " was refused: " + became.Reason)
		case known:
			return fateApplied, nil
		case left && !served:
			return fateLeft, nil
		case left && !woken:
			if err := site.Ring(e); err != nil {
				return fateUnread, err
			}
			woken = true
			deadline.Reset(wokenWait)
		}
		select {
		case <-ctx.Done():
			return fateUnread, ctx.Err()
		case <-deadline.C:
			return fateUnread, nil
		case <-tick.C:
		}
	}
}

// awaitDecision says what happened to a command. A host that was about to end may not have read
// it; then the command starts the next host, as it would have without one.
func (g *given) awaitDecision(ctx context.Context, e session.Entry) error {
	became, err := fateOf(ctx, e, g.Payload)
	switch {
	case err != nil:
		return err
	case became == fateLeft:
		return g.applyLeft(ctx, e)
	case became == fateUnread:
		g.Say("recorded; the session has not read it yet (agentmux logs %s)", e.Name)
		return nil
	}
	g.Say("%s: done", g.Name)
	return nil
}

// Send gives a command of the monitor to the session, and says what happened to it. Without wakes no host is started for it:
// the window of the session's tmux has neither the person's keys nor the token, with which a host has to begin.
func Send(ctx context.Context, a *site.Finder, e session.Entry, p orchestrator.Payload, wakes bool) (became string, err error) {
	now, err := session.Find(site.ProjectOf(e), e.Dir, nil)
	if err == nil {
		err = now.Err
	}
	if err == nil && !wakes && now.State.Phase == orchestrator.PhaseDone && !now.Running && !site.Served(now) {
		return "", errors.New("this window starts no host; in a terminal of yours type: agentmux " + p.Name + " \"...\" " + e.Name)
	}
	if err == nil {
		_, err = record(ctx, a, now, p)
	}
	if err == nil && wakes && !now.Running && !site.Served(now) {
		err = wakeParked(ctx, a, now, p.Name)
	}
	if err != nil || !session.Running(e.Dir) && !site.Served(e) {
		return "recorded; agentmux resume " + e.Name + " applies it", err
	}
	fate, err := fateOf(ctx, now, p)
	if err != nil || fate == fateApplied {
		return "done", err
	}
	return "recorded", nil
}

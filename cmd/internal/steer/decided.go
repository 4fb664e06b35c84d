package steer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/tools"
)

// decisionWait is how long a command waits to hear what the session made of it.
const decisionWait = 5 * time.Second

// startsHost are the commands that wake a parked session.
var startsHost = map[string]bool{"stop": true, "changes": true, "retry": true}

// wakes reports whether a command to a session that nobody hosts starts a host that applies it.
func wakes(e session.Entry, name string) bool {
	return startsHost[name] && e.State.Parked() || name == "changes" && e.State.Phase == orchestrator.PhaseDone
}

// record writes a command down, unless it is known now that the session refuses it.
func record(ctx context.Context, a *site.Finder, e session.Entry, p orchestrator.Payload) error {
	var refused *tools.RefusedError
	err := foresee(e, p)
	if err == nil {
		_, err = tools.AppendCommand(e.Dir, p)
	}
	if errors.As(err, &refused) {
		return exit.Usage(fmt.Errorf("%s: %s; next: %s", e.Name, refused.Reason, show.Tell(ctx, e).Next()))
	}
	return err
}

// foresee fails with a *tools.RefusedError if the session would refuse the command. Where a
// host runs, it decides, but about what is nothing at all.
func foresee(e session.Entry, p orchestrator.Payload) error {
	needsText := p.Name == "answer" || p.Name == "changes" || p.Name == "say"
	if needsText && strings.TrimSpace(p.Args.Text) == "" {
		return &tools.RefusedError{Reason: p.Name + " needs a text"}
	}
	if e.Running || e.State == nil {
		return nil
	}
	sess, err := session.Open(e.Dir)
	if err != nil {
		return err
	}
	def, err := sess.Definition()
	if err != nil {
		return err
	}
	if reason := decide.Foresee(def, e.State, p, time.Now(), !wakes(e, p.Name)); reason != "" {
		return &tools.RefusedError{Reason: reason}
	}
	return nil
}

// wakeParked starts a host for a session that nobody hosts, if the command is one
// that a parked session obeys.
func wakeParked(ctx context.Context, a *site.Finder, e session.Entry, name string) error {
	now, err := session.Find(site.ProjectOf(e), e.Name, nil)
	if err != nil || now.State == nil || now.Running || !startsHost[name] || !now.State.Parked() {
		return err
	}
	return hosting.Wake(ctx, a, now)
}

func applyUnhosted(ctx context.Context, a *site.Finder, e session.Entry, p orchestrator.Payload) error {
	if !wakes(e, p.Name) {
		a.Say("recorded; it is applied when the session goes on: agentmux resume %s", e.Name)
		return nil
	}
	if err := hosting.Wake(ctx, a, e); err != nil {
		return err
	}
	return awaitDecision(ctx, a, e, p)
}

// applyLeft applies a command that the last host left unread.
func applyLeft(ctx context.Context, a *site.Finder, e session.Entry, p orchestrator.Payload) error {
	now, err := session.Find(site.ProjectOf(e), e.Dir, nil)
	switch {
	case err != nil:
		return err
	case now.Err != nil:
		return now.Err
	case now.Running: // another one woke the next host
		return awaitDecision(ctx, a, e, p)
	}
	err = applyUnhosted(ctx, a, now, p)
	if err != nil && session.Running(e.Dir) {
		return awaitDecision(ctx, a, e, p)
	}
	return err
}

// fate is what became of a command.
type fate int

const (
	fateUnread  fate = iota // the host has not read it in time
	fateLeft                // the host ended and had not read it
	fateApplied             // the session did it
)

// fateOf follows the session's records until one names the command. A refusal is an error.
func fateOf(ctx context.Context, e session.Entry, p orchestrator.Payload) (fate, error) {
	s, err := session.Open(e.Dir)
	if err != nil {
		return fateUnread, err
	}
	follower := s.Follow(e.State.Seq)
	deadline := time.NewTimer(decisionWait)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		left := !session.Running(e.Dir) // before the records: what this host wrote is there
		records, err := follower.Read()
		if err != nil {
			return fateUnread, err
		}
		for _, record := range records {
			switch d := record.Data.(type) {
			case orchestrator.CommandAppliedRecord:
				if d.SourceID == p.SourceID {
					return fateApplied, nil
				}
			case orchestrator.CommandRefusedRecord:
				if d.SourceID == p.SourceID {
					return fateApplied, errors.New(p.Name + " was refused: " + d.Reason)
				}
			}
		}
		if left {
			return fateLeft, nil
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

// awaitDecision says what the session made of a command. A host that was about to end may not
// have read it: then the command wakes the next one, as it would have without any.
func awaitDecision(ctx context.Context, a *site.Finder, e session.Entry, p orchestrator.Payload) error {
	became, err := fateOf(ctx, e, p)
	switch {
	case err != nil:
		return err
	case became == fateLeft:
		return applyLeft(ctx, a, e, p)
	case became == fateUnread:
		a.Say("recorded; the session has not read it yet (agentmux logs %s)", e.Name)
		return nil
	}
	a.Say("%s: done", p.Name)
	return nil
}

// Send gives a command of the monitor to the session, and says what became of it.
func Send(ctx context.Context, a *site.Finder, e session.Entry, p orchestrator.Payload) (became string, err error) {
	now, err := session.Find(site.ProjectOf(e), e.Dir, nil)
	if err == nil {
		err = now.Err
	}
	if err == nil {
		err = record(ctx, a, now, p)
	}
	if err == nil && !now.Running {
		err = wakeParked(ctx, a, now, p.Name)
	}
	if err != nil || !session.Running(e.Dir) {
		return "recorded; agentmux resume " + e.Name + " applies it", err
	}
	fate, err := fateOf(ctx, now, p)
	if err != nil || fate == fateApplied {
		return "done", err
	}
	return "recorded", nil
}

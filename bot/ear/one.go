package ear

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// One is the owner of one session that a command runs.
type One struct {
	Issue int
	Dir   string
	// MayWrite is asked before each receipt; nil allows all.
	MayWrite func(ctx context.Context) error
	// HeldBy lists what the open gate of a state shows that takes maintain permission to approve.
	HeldBy func(ctx context.Context, s *orchestrator.State) ([]string, error)
}

// Find knows the issue and the session's pull request. What belongs to another issue is nothing.
func (o One) Find(_ context.Context, number int, pull bool) (Subject, error) {
	state, err := o.state()
	if err != nil {
		return Subject{}, err
	}
	of := state.Completion.PRNumber
	if pull && (of == 0 || number != of) || !pull && number != o.Issue {
		return Subject{}, nil
	}
	return Subject{Issue: o.Issue, Dir: o.Dir, Pull: of, Open: of != 0}, nil
}

func (o One) state() (*orchestrator.State, error) {
	s, err := session.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	return s.ReadState()
}

// Wake does nothing: the session runs, and reads its lines.
func (o One) Wake(context.Context, Subject) error { return nil }

// Drop does nothing: there are no tickets.
func (o One) Drop(context.Context, Subject, ghsync.Account, time.Time) error { return nil }

// EndFollowUps does nothing: the command follows no pull request.
func (o One) EndFollowUps(context.Context, Subject, ghsync.Account) error { return nil }

// Retry refuses: the command is about to end.
func (o One) Retry(context.Context, Subject, Retry) (gate.Decision, error) {
	return gate.Decision{What: gate.Refuse, Reason: "the session has ended", Remedy: "agentmux resume on the machine it ran on continues it"}, nil
}

// Held lists what the open gate shows that takes maintain permission to approve.
func (o One) Held(ctx context.Context, _ Subject) ([]string, error) {
	state, err := o.state()
	if err != nil || o.HeldBy == nil {
		return nil, err
	}
	return o.HeldBy(ctx, state)
}

// Guard asks MayWrite.
func (o One) Guard(ctx context.Context, _ int) error {
	if o.MayWrite == nil {
		return nil
	}
	return o.MayWrite(ctx)
}

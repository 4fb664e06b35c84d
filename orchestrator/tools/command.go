package tools

import (
	"fmt"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// AppendCommand adds a command of a person to the session in dir. It takes Name, Args,
// Actor and Source of p, and of a command from elsewhere the SourceID that identifies it.
// It reports false and writes nothing if a command with this source id was recorded before.
// A *RefusedError says why a command cannot count.
func AppendCommand(dir string, p orchestrator.Payload) (recorded bool, err error) {
	s, err := session.Open(dir)
	if err != nil {
		return false, err
	}
	err = s.Append(session.Commands, time.Now(), func(tail session.Tail) (*session.NewLine, error) {
		known, err := knownSource(tail, p.SourceID)
		if err != nil || known {
			return nil, err
		}
		if p, err = bound(p, tail.State); err != nil {
			return nil, err
		}
		recorded = true
		return &session.NewLine{Tool: "command", Visit: tail.State.Visit, Payload: p}, nil
	})
	if err != nil {
		return false, fmt.Errorf("append command: %w", err)
	}
	return recorded, nil
}

// RefusedError says why a command cannot count as the session is now; nothing was recorded.
type RefusedError struct{ Reason string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// bound gives an approval the digest of the gate that is open now, so that it does not
// count for a gate that opens later.
func bound(p orchestrator.Payload, s *orchestrator.State) (orchestrator.Payload, error) {
	if p.Name != "approve" {
		return p, nil
	}
	if s.Gate == nil {
		return p, &RefusedError{"no gate is open: nothing waits for approval"}
	}
	if p.Args.Of == "" {
		p.Args.Of = s.GateDigest()
		return p, nil
	}
	if fault := duty.ShownFault(s, p.Args.Of); fault != "" {
		return p, &RefusedError{fault}
	}
	return p, nil
}

func knownSource(tail session.Tail, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	lines, err := tail.All()
	if err != nil {
		return false, err
	}
	for _, l := range lines {
		if p, err := l.Decode(); err == nil && l.Corrupt == "" && p.SourceID == id && isDecided(p.State) {
			return true, nil
		}
	}
	return false, nil
}

// isDecided reports whether a line is an accepted command and not one of the notes that a
// bot keeps in the same file.
func isDecided(state string) bool { return state == "" || state == "accepted" }

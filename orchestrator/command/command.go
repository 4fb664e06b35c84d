// Package command is what people tell a session: whether the session would take a command, the line
// that records it, whether it wakes a session without a host, and what became of it. Commands from
// a terminal, the monitor and comments on GitHub follow the same rules.
//
// A command is one line of commands.jsonl. Append writes it under the lock of the file, once for
// each source id, and returns when it is on disk; the host of the session decides about it. A
// [Note] is a line that no host decides about: it says that a command was refused, or answered,
// before it reached the session, for those who show the session.
package command

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Append adds a command of a person to the session in dir. It takes Name, Args, Actor and Source
// of p, and of a command from elsewhere the SourceID that identifies it. It reports false and
// writes nothing if a command with this source id was recorded before. A *RefusedError says why a
// command cannot count.
func Append(dir string, p orchestrator.Payload) (recorded bool, err error) {
	return appendLine(dir, p, orchestrator.Payload.IsCommand)
}

// Note adds to the session in dir what became of a command without the session: the State and the
// Reason of p, which has the other fields of a command. It reports false and writes nothing if a
// line of this source id is there.
func Note(dir string, p orchestrator.Payload) (recorded bool, err error) {
	return appendLine(dir, p, func(orchestrator.Payload) bool { return true })
}

// Known returns the line that the session in dir has of a source, a command before a note.
func Known(dir, source string) (p orchestrator.Payload, ok bool, err error) {
	s, err := session.Open(dir)
	if err != nil {
		return p, false, err
	}
	var cursor orchestrator.Cursor
	for more := true; more && err == nil; {
		var lines []orchestrator.Line
		lines, more, err = s.Lines(session.Commands, cursor, 0)
		for _, l := range lines {
			cursor = l.Cursor
			q, bad := l.Decode()
			if bad == nil && l.Corrupt == "" && l.Rewound == nil && q.SourceID == source && source != "" && (!ok || q.IsCommand()) {
				p, ok = q, true
			}
		}
	}
	return p, ok, err
}

// Unread returns where the lines end that the session in dir has not read yet, commands and notes; 0
// if it has read all.
func Unread(dir string) (end int64, err error) {
	s, err := session.Open(dir)
	if err != nil {
		return 0, err
	}
	state, err := s.ReadState()
	if err != nil {
		return 0, err
	}
	cursor := state.CommandCursor
	for more := true; more; {
		var lines []orchestrator.Line
		if lines, more, err = s.Lines(session.Commands, cursor, 0); err != nil {
			return 0, err
		}
		for _, l := range lines {
			cursor = l.Cursor
			end = cursor.Offset
		}
	}
	return end, nil
}

// appendLine adds a line unless there is one of its source id that counts.
func appendLine(dir string, p orchestrator.Payload, counts func(orchestrator.Payload) bool) (recorded bool, err error) {
	s, err := session.Open(dir)
	if err != nil {
		return false, err
	}
	err = s.Append(session.Commands, time.Now(), func(tail session.Tail) (*session.NewLine, error) {
		known, err := knownSource(tail, p.SourceID, counts)
		if err != nil || known {
			return nil, err
		}
		if p, err = bound(p, tail.State); err != nil {
			return nil, err
		}
		recorded = true
		return &session.NewLine{Tool: orchestrator.CommandTool, Visit: tail.State.Visit, Payload: p}, nil
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

// bound gives an approval the digest of the gate that is open now, so that it does not count for a
// gate that opens later.
func bound(p orchestrator.Payload, s *orchestrator.State) (orchestrator.Payload, error) {
	if p.Name != "approve" || !p.IsCommand() {
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

func knownSource(tail session.Tail, id string, counts func(orchestrator.Payload) bool) (bool, error) {
	if id == "" {
		return false, nil
	}
	lines, err := tail.All()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(lines, func(l session.Written) bool {
		p, err := l.Decode()
		return err == nil && l.Corrupt == "" && p.SourceID == id && counts(p)
	}), nil
}

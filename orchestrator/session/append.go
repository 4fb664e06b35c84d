package session

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
)

// NewLine is what a writer adds to a line file; the time, the session and its phase are
// filled in.
type NewLine struct {
	Tool    string
	Role    string
	Task    string
	Launch  orchestrator.Launch
	Visit   int
	Payload any
	Seal    string // signs the line; "" for a caller without a launch
	ID      string // see NewID; "" = a new one
}

// Tail is what a writer may look at before it decides. No other writer can write
// meanwhile. It may be used only during the call it was given to.
type Tail struct {
	// State is the session's state, read after the file was locked.
	State *orchestrator.State

	file string
	tail durable.Tail
}

// Written is a line and when it says it was written; the zero time if it does not.
type Written struct {
	orchestrator.Line
	At time.Time
}

// Unread returns the lines the host has not consumed yet.
func (t Tail) Unread() ([]Written, error) {
	return t.since(cursors(t.State)[t.file].Offset)
}

// CountUnread returns how many lines the host has not consumed yet, how many of them are by a launch, and
// the last of these.
func (t Tail) CountUnread(by orchestrator.Launch) (n, own, last int, err error) {
	data, err := t.tail.Since(cursors(t.State)[t.file].Offset)
	for line := range bytes.Lines(data) {
		if n += min(len(bytes.TrimSpace(line)), 1); bytes.Contains(line, []byte(by)) {
			own, last = own+1, n
		}
	}
	return n, own, last, err
}

func cursors(s *orchestrator.State) map[string]orchestrator.Cursor {
	return map[string]orchestrator.Cursor{ToolEvents: s.ToolCursor, Commands: s.CommandCursor, MessageIndex: s.MessageCursor}
}

// All returns every line of the file.
func (t Tail) All() ([]Written, error) { return t.since(0) }

// Last returns the lines of the last bytes of the file, the first of them
// perhaps corrupt.
func (t Tail) Last(size int64) ([]Written, error) { return t.since(max(0, t.tail.Size-size)) }

func (t Tail) since(offset int64) ([]Written, error) {
	var lines []Written
	data, err := t.tail.Since(offset)
	for text := range bytes.Lines(data) {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			line := ParseLine(text)
			lines = append(lines, Written{Line: line, At: line.At.Time})
		}
	}
	return lines, err
}

// Append adds one line to file, ToolEvents, Commands or MessageIndex. compose decides under the
// file's lock what to write; with a nil line or an error nothing is written and
// the error is returned. When Append returns nil the line is on disk. The error is
// ErrBusy if other writers held the file for too long, and ErrStays if the line may be taken although it
// is not known to be on disk.
func (s *Session) Append(file string, now time.Time, compose func(Tail) (*NewLine, error)) error {
	return s.AppendSeen(file, now, nil, compose)
}

// AppendSeen is Append with the state as the writer has read it, so that others do not wait meanwhile, or
// with a new one where somebody damaged it under a host that lives and has it in memory.
func (s *Session) AppendSeen(file string, now time.Time, state *orchestrator.State, compose func(Tail) (*NewLine, error)) error {
	return s.disk.Append(s.Path(file), func(tail durable.Tail) (_ []byte, err error) {
		if state == nil {
			if state, err = s.ReadState(); err != nil {
				return nil, err
			}
		}
		line, err := compose(Tail{State: state, file: file, tail: tail})
		if err != nil || line == nil {
			return nil, err
		}
		return encodeLine(line, state, now)
	})
}

// NewID returns an id for a line.
func NewID() string {
	id := make([]byte, 16)
	rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

func encodeLine(l *NewLine, state *orchestrator.State, now time.Time) ([]byte, error) {
	payload, err := json.Marshal(l.Payload)
	if err != nil {
		return nil, fmt.Errorf("encode line: %w", err)
	}
	if len(payload) > MaxPayload {
		return nil, ErrTooLong
	}
	line, err := json.Marshal(wireLine{
		Tool: l.Tool, Timestamp: orchestrator.Classic(now), Payload: payload, Version: 1, ID: cmp.Or(l.ID, NewID()),
		Role: l.Role, Task: l.Task, Launch: l.Launch, Session: state.SessionID, Phase: state.Phase, Visit: &l.Visit,
	})
	if err != nil {
		return nil, fmt.Errorf("encode line: %w", err)
	}
	if l.Seal != "" {
		line, err = sealed(line, l.Seal)
	}
	return append(line, '\n'), err
}

// ErrTooLong says that a line's payload is over 64 KiB; nothing was written.
var ErrTooLong = errors.New("longer than 64 KiB")

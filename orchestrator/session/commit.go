package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// maxEventLine is the size limit of one record of events.jsonl.
const maxEventLine = 64 << 10

// Commit makes a step durable: its blobs, its records, then the state. The lock
// must be held and Recover must have been called. After an error nothing of the
// step counts: the records that were appended are cut off again, and the same
// step may be committed once more. A step that changed nothing is not committed.
func (s *Session) Commit(step decide.Step) error {
	if !step.Changed {
		return nil
	}
	if s.held == nil {
		return errors.New("commit: the session is not locked")
	}
	if !s.held.Valid(s.Path(LockFile)) {
		return fmt.Errorf("commit: %w", ErrLockLost)
	}
	data, err := step.State.Encode()
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if len(data) > orchestrator.MaxStateBytes {
		return errors.New("commit: the state is larger than 8 MiB")
	}
	lines, err := encodeEvents(step.Events)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for name, content := range step.Blobs {
		if err := s.putBlob(name, content); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
	}
	if entersPhase(step.Events) {
		s.backup()
	}
	if err := s.appendEvents(lines); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := s.replaceState(data); err != nil {
		return fmt.Errorf("commit: %w", errors.Join(err, s.cutEvents()))
	}
	s.eventsSize += int64(len(lines))
	s.viewToolCursor(step.State.ToolCursor)
	return nil
}

func entersPhase(events []orchestrator.Event) bool {
	return slices.ContainsFunc(events, func(e orchestrator.Event) bool { return e.Type == orchestrator.EvPhaseEntered })
}

// encodeEvents returns one line per record. One that is too long keeps its number, its type
// and every key of its data, with shorter texts and lists: readers find a question by its
// id, and a hole in the numbers would be worse still.
func encodeEvents(events []orchestrator.Event) ([]byte, error) {
	var out bytes.Buffer
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("encode record %d: %w", e.Seq, err)
		}
		for limit := 1000; len(line) >= maxEventLine && limit > 0; limit /= 4 {
			if line, err = encodeShort(e, limit); err != nil {
				return nil, fmt.Errorf("encode record %d: %w", e.Seq, err)
			}
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// encodeShort encodes a record with texts of at most so many characters and lists of at
// most so many items.
func encodeShort(e orchestrator.Event, limit int) ([]byte, error) {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(shortened(plain, limit)); err != nil {
		return nil, err
	}
	e.Data = orchestrator.UnknownRecord{Name: e.Type, Raw: data}
	return json.Marshal(e)
}

func shortened(value any, limit int) any {
	switch v := value.(type) {
	case string:
		if runes := []rune(v); len(runes) > limit {
			return string(runes[:limit]) + "…"
		}
	case []any:
		v = v[:min(len(v), limit)]
		for i := range v {
			v[i] = shortened(v[i], limit)
		}
		return v
	case map[string]any:
		for key := range v {
			v[key] = shortened(v[key], limit)
		}
	}
	return value
}

func (s *Session) backup() { _ = s.disk.Backup(s.Path(StateFile), s.Path(StateBackup)) }

// appendEvents appends at eventsSize. What is behind it was left by a commit
// that could not even cut off its own records.
func (s *Session) appendEvents(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	if err := s.cutEvents(); err != nil {
		return err
	}
	return s.disk.Append(s.Path(EventsFile), func(tail durable.Tail) ([]byte, error) {
		s.eventsSize = tail.Size // smaller than known only if somebody cut the file
		return lines, nil
	})
}

func (s *Session) cutEvents() error {
	info, err := os.Lstat(s.Path(EventsFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= s.eventsSize {
		return nil
	}
	if err != nil {
		return err
	}
	return s.disk.Truncate(s.Path(EventsFile), s.eventsSize)
}

func (s *Session) replaceState(data []byte) error {
	if err := s.disk.Replace(s.Path(StateFile), data); err != nil {
		return err
	}
	info, err := os.Lstat(s.Path(StateFile))
	if err != nil {
		info = nil // somebody removed it at once; Overwritten has nothing to compare
	}
	s.stateFile = info
	return nil
}

// toolCursorView is tool_event_state.json, a copy of the cursor for readers that know only that file.
type toolCursorView struct {
	AppliedOffset int64  `json:"applied_offset"`
	Version       int    `json:"version"`
	AppliedSeq    int    `json:"applied_seq"`
	LineSHA256    string `json:"line_sha256"`
}

// viewToolCursor cannot fail a commit: the state is on disk by then, and trying again
// would write its records twice. The next commit writes the copy again.
func (s *Session) viewToolCursor(c orchestrator.Cursor) {
	if data, err := json.Marshal(toolCursorView{c.Offset, 2, c.Seq, c.LineSHA256}); err == nil {
		_ = s.disk.View(s.Path(ToolCursorFile), append(data, '\n'))
	}
}

// classicCursor reads the offset a classic session kept beside its state.
func (s *Session) classicCursor() orchestrator.Cursor {
	data, err := readOwn(s.Path(ToolCursorFile), 1<<16)
	if err != nil {
		return orchestrator.Cursor{}
	}
	var side struct {
		Offset *int64 `json:"applied_offset"`
		Older  *int64 `json:"applied_cursor"`
	}
	if json.Unmarshal(data, &side) != nil {
		return orchestrator.Cursor{}
	}
	for _, at := range []*int64{side.Offset, side.Older} {
		if at != nil && *at >= 0 {
			return orchestrator.Cursor{Offset: *at}
		}
	}
	return orchestrator.Cursor{}
}

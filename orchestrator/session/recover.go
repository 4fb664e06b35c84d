package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/replay"
)

// Recover brings the directory back to its last commit and returns that state:
// records beyond the state's seq are cut off, the copy of the cursor is written
// again. If events.jsonl is gone or does not reach the state, that becomes a
// record of its own. The lock must be held. It is safe to call twice.
func (s *Session) Recover(now time.Time) (*orchestrator.State, error) {
	state, err := s.ReadState()
	if err != nil {
		return nil, err
	}
	crash.Point("recover", "")
	if state.IsClassic() && state.ToolCursor == (orchestrator.Cursor{}) {
		state.ToolCursor = s.classicCursor()
	}
	if err := s.lineFiles(); err != nil {
		return nil, err
	}
	keep, size, found, err := s.lastRecord(state.Seq)
	if err != nil {
		return nil, err
	}
	if err := s.mayAdd(); err != nil {
		return nil, err
	}
	if keep < size {
		if err := s.disk.Truncate(s.Path(EventsFile), keep); err != nil {
			return nil, fmt.Errorf("recover: %w", err)
		}
	}
	if err := s.take(); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	if !found && state.Seq > 0 {
		return s.recordLoss(state, size, now)
	}
	s.viewToolCursor(state.ToolCursor)
	return state, nil
}

// lineFiles fails if a file of lines is not a regular file: agents could not submit.
func (s *Session) lineFiles() error {
	for _, file := range []string{ToolEvents, Commands, MessageIndex} {
		f, _, err := openLines(s.Path(file))
		if err != nil {
			return s.unusable(file, err, "move it out of the way and run agentmux resume "+s.Name())
		}
		if f != nil {
			f.Close()
		}
	}
	return nil
}

// mayAdd fails if a file of lines is there that this user may read and not write.
func (s *Session) mayAdd() error {
	for _, file := range []string{EventsFile, ToolEvents, Commands, MessageIndex} {
		f, err := os.OpenFile(s.Path(file), os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrPermission) {
			return s.unusable(file, err, "make it writable for its owner and run agentmux resume "+s.Name())
		}
		if err == nil {
			f.Close()
		}
	}
	return nil
}

// take notes what the host's files look like now, so that changes of others and
// its own unfinished appends are noticed.
func (s *Session) take() error {
	info, err := os.Lstat(s.Path(StateFile))
	if err != nil {
		return err
	}
	s.stateFile, s.eventsSize = info, 0
	info, err = os.Lstat(s.Path(EventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.eventsSize = info.Size()
	return nil
}

// lastRecord returns the end of the record numbered seq, the size of the file,
// and whether the record is there. Without it every complete line with a lower
// number stays.
func (s *Session) lastRecord(seq int) (end, size int64, found bool, err error) {
	data, err := readOwn(s.Path(EventsFile), math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, false, nil
	}
	if err != nil {
		next := "move it out of the way and run agentmux resume " + s.Name() + ": the session goes on without its history"
		return 0, 0, false, s.unusable(EventsFile, err, next)
	}
	var at int64
	for rest := data; ; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break
		}
		rest = after
		at += int64(len(line)) + 1
		if n, _, ok := replay.Head(line); ok && n < seq { // there may be many: the last one alone is read whole
			end = at
			continue
		}
		var record struct {
			Seq int `json:"seq"`
		}
		if json.Unmarshal(line, &record) != nil || record.Seq <= 0 {
			continue
		}
		if record.Seq > seq {
			break
		}
		end, found = at, record.Seq == seq
	}
	return end, int64(len(data)), found, nil
}

// recordLoss notes in the records that earlier ones are gone.
func (s *Session) recordLoss(state *orchestrator.State, size int64, now time.Time) (*orchestrator.State, error) {
	next := state.Clone()
	next.Seq++
	lost := orchestrator.InputRewoundRecord{
		File: EventsFile, From: int64(state.Seq), To: size, Reason: fmt.Sprintf("the file ends before record %d", state.Seq),
	}
	record := orchestrator.Event{
		Seq: next.Seq, TS: orchestrator.At(now), Type: lost.Type(), Phase: next.Phase, Visit: next.Visit, Data: lost,
	}
	step := decide.Step{State: next, Events: []orchestrator.Event{record}, Changed: true}
	if err := s.Commit(step); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	return next, nil
}

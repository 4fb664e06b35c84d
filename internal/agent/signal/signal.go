package signal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/durable"
)

// Kind is what an event of a program means.
type Kind string

// The kinds.
const (
	KindReady      Kind = "ready"       // the program has started and takes input
	KindPrompt     Kind = "prompt"      // it took a line; Text is its beginning
	KindWorking    Kind = "working"     // it uses a tool, so no dialog is open
	KindPermission Kind = "permission"  // a permission dialog is open
	KindQuestion   Kind = "question"    // its own question to a person is open
	KindIdle       Kind = "idle"        // it waits for input
	KindTurnEnd    Kind = "turn_end"    // its turn is over
	KindTurnFailed Kind = "turn_failed" // its turn ended by an error; Text says which
	KindRateLimit  Kind = "rate_limit"  // its turn ended because the service refuses more for now
	KindEnd        Kind = "end"         // the program's session is over
	KindResult     Kind = "result"      // the end of a headless run, with its usage; Text is its error
	KindOther      Kind = "other"
)

// Signal is one line of a launch's events.jsonl. All of it comes from a program that is not
// trusted: a signal says what to check, never what is true.
type Signal struct {
	At         time.Time `json:"at"`
	Event      string    `json:"event"` // the program's own name for it
	Kind       Kind      `json:"kind"`
	Session    string    `json:"session,omitempty"`    // the program's own id
	Transcript string    `json:"transcript,omitempty"` // its record of the session
	Tool       string    `json:"tool,omitempty"`
	Text       string    `json:"text,omitempty"`      // at most 500 bytes
	Continued  bool      `json:"continued,omitempty"` // the turn's end was answered by an instruction
	Message    string    `json:"message,omitempty"`   // the id that the caller gave that instruction
	Usage      *Usage    `json:"usage,omitempty"`
}

const (
	eventsFile = "events.jsonl"
	maxSignals = 1 << 20 // bytes read of events.jsonl at once
	maxLine    = 64 << 10
	maxText    = 500
)

// Read returns the complete lines of a launch's events.jsonl from offset on, at most
// 1 MiB of them, and the offset behind them. Lines that are not a Signal are left out.
// A missing file has no lines. A file shorter than offset is read from its start.
func Read(dir string, offset int64) ([]Signal, int64, error) {
	f, err := os.OpenFile(filepath.Join(dir, eventsFile), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, offset, fmt.Errorf("read signals: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, offset, errors.Join(fmt.Errorf("read signals: %s is not a regular file", f.Name()), err)
	}
	if offset > info.Size() {
		offset = 0
	}
	data, err := io.ReadAll(io.NewSectionReader(f, offset, maxSignals))
	if err != nil {
		return nil, offset, fmt.Errorf("read signals: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole == 0 && len(data) == maxSignals {
		whole = len(data) // a line longer than the limit: skip what was read of it
	}
	return parse(data[:whole]), offset + int64(whole), nil
}

func parse(data []byte) []Signal {
	var signals []Signal
	for line := range bytes.Lines(data) {
		var s Signal
		if len(line) <= maxLine && json.Unmarshal(line, &s) == nil && s.Kind != "" {
			signals = append(signals, s)
		}
	}
	return signals
}

// Append adds one line to the launch's events.jsonl.
func Append(dir string, s Signal) error {
	return durable.Append(filepath.Join(dir, eventsFile), func(durable.Tail) ([]byte, error) { return s.line() })
}

func (s Signal) line() ([]byte, error) {
	s.Text = excerpt(s.Text)
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode signal: %w", err)
	}
	return append(data, '\n'), nil
}

// excerpt cuts text to maxText bytes at a character's border.
func excerpt(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/durable"
)

// Kind is what an event of a program means to us.
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

// Usage is what a run has used, as the program counts it.
type Usage struct {
	Input      int64   `json:"input_tokens"`
	Output     int64   `json:"output_tokens"`
	CacheRead  int64   `json:"cache_read_tokens"`
	CacheWrite int64   `json:"cache_write_tokens"`
	USD        float64 `json:"usd"`
	Turns      int     `json:"turns"`
}

// Signal is one line of a launch's events.jsonl. All of it comes from a program that is
// not trusted: it tells what to look at, never what is true.
type Signal struct {
	At         time.Time `json:"at"`
	Event      string    `json:"event"` // the program's own name for it
	Kind       Kind      `json:"kind"`
	Session    string    `json:"session,omitempty"`    // the program's own id
	Transcript string    `json:"transcript,omitempty"` // its record of the session
	Tool       string    `json:"tool,omitempty"`
	Text       string    `json:"text,omitempty"`      // at most 500 bytes
	Continued  bool      `json:"continued,omitempty"` // the turn's end was answered by an instruction
	Message    string    `json:"message,omitempty"`   // what the caller named that instruction
	Usage      *Usage    `json:"usage,omitempty"`
}

const (
	eventsFile = "events.jsonl"
	maxSignals = 1 << 20 // bytes read of events.jsonl at once
	maxLine    = 64 << 10
	maxText    = 500
)

// Signals returns the complete lines of a launch's events.jsonl from offset on, at most
// 1 MiB of them, and the offset behind them. Lines that are none of ours are left out. A
// missing file has no lines; one shorter than offset is read from its start.
func Signals(dir string, offset int64) ([]Signal, int64, error) {
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
		return nil, offset, errors.Join(fmt.Errorf("read signals: %s is no regular file", f.Name()), err)
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
		whole = len(data) // a line without end: skip what was read of it
	}
	return parseSignals(data[:whole]), offset + int64(whole), nil
}

func parseSignals(data []byte) []Signal {
	var signals []Signal
	for line := range bytes.Lines(data) {
		var s Signal
		if len(line) <= maxLine && json.Unmarshal(line, &s) == nil && s.Kind != "" {
			signals = append(signals, s)
		}
	}
	return signals
}

// appendSignal adds one line.
func appendSignal(dir string, s Signal) error {
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

// State is what a program is doing.
type State string

// The states.
const (
	Starting          State = "starting"
	Ready             State = "ready"
	Working           State = "working"
	WaitingPermission State = "waiting-permission"
	WaitingAnswer     State = "waiting-answer"
	Idle              State = "idle"
	RateLimited       State = "rate-limited"
	Exited            State = "exited"
)

// Status is what the signals of one launch add up to. The zero value is that of a launch
// without signals.
type Status struct {
	State      State // "" and Starting are the same
	Since      time.Time
	Session    string // the program's own id of its session
	Transcript string
	TurnEnds   int    // turns that ended and were not continued
	Prompts    int    // lines the program took
	Prompt     string // the beginning of the last one
	Failure    string // why the last turn failed; "" when it did not
	Messages   []string
	Usage      *Usage
}

// Apply returns the status after one more signal.
func (t Status) Apply(s Signal) Status {
	if s.Session != "" {
		t.Session = s.Session
	}
	if s.Transcript != "" {
		t.Transcript = s.Transcript
	}
	if s.Usage != nil {
		t.Usage = s.Usage
	}
	if s.Message != "" {
		t.Messages = append(t.Messages[:len(t.Messages):len(t.Messages)], s.Message)
	}
	state := t.State
	switch s.Kind {
	case KindReady:
		state = Ready
	case KindPrompt:
		state, t.Prompt, t.Failure = Working, s.Text, ""
		t.Prompts++
	case KindWorking:
		state, t.Failure = Working, ""
	case KindPermission:
		state = WaitingPermission
	case KindQuestion:
		state = WaitingAnswer
	case KindIdle:
		state = idleAfter(state)
	case KindTurnEnd, KindTurnFailed, KindRateLimit:
		state = t.turnEnded(s)
	case KindResult:
		t.Failure = s.Text
	case KindEnd:
		state = Exited
	}
	if state != t.State {
		t.State, t.Since = state, s.At
	}
	return t
}

// idleAfter keeps a state that says more than that the program waits.
func idleAfter(state State) State {
	if state == RateLimited || state == WaitingPermission || state == WaitingAnswer || state == Exited {
		return state
	}
	return Idle
}

func (t *Status) turnEnded(s Signal) State {
	t.Failure = ""
	switch {
	case s.Continued:
		return Working
	case s.Kind == KindRateLimit:
		t.Failure = cmp.Or(s.Text, "rate limit")
		return RateLimited
	case s.Kind == KindTurnFailed:
		t.Failure = cmp.Or(s.Text, "failed")
	}
	t.TurnEnds++
	return Idle
}

// Screen reads a program's state from what it shows, for programs without hooks and as a
// last resort. It is Working when a busy mark stands there, Idle when only a ready mark
// does, else "".
func (p Provider) Screen(text string) State {
	for _, mark := range p.Busy {
		if strings.Contains(text, mark) {
			return Working
		}
	}
	for _, mark := range p.Ready {
		if strings.Contains(text, mark) {
			return Idle
		}
	}
	return ""
}

package signal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
)

// maxContinued is how often in a row the end of a turn is answered with an instruction. A
// program that keeps ending its turn without doing anything would never stop.
const maxContinued = 3

// Instruction is what a program is told at the end of its turn.
type Instruction struct {
	Text string // "" means nothing
	ID   string // for the caller; the signal has it as Message
}

// NextFunc returns what to tell a program whose turn has ended. It is called only when its
// result is the answer.
type NextFunc func() (Instruction, error)

// noAnswer is the answer of a hook that has nothing to say.
func noAnswer() []byte { return []byte("{}\n") }

// Record is the work of a hook: it reads the event the program describes on stdin, adds it
// to the launch's events.jsonl and returns what to print, which is valid also after an
// error. At the end of a turn the instruction of next, if not nil, is the answer.
func Record(dir, event string, stdin io.Reader, now time.Time, next NextFunc) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(stdin, 4<<20))
	if err != nil {
		return noAnswer(), fmt.Errorf("read hook: %w", err)
	}
	s := readHook(event, data)
	s.At = now.UTC()
	answer := noAnswer()
	err = durable.Append(filepath.Join(dir, eventsFile), func(tail durable.Tail) ([]byte, error) {
		if s.Kind == KindTurnEnd && next != nil {
			instruction, err := instruct(tail, next)
			if err != nil {
				return nil, err
			}
			if instruction.Text != "" {
				s.Continued, s.Message, answer = true, instruction.ID, continuation(instruction.Text)
			}
		}
		return s.line()
	})
	if err != nil {
		return noAnswer(), fmt.Errorf("record hook %s: %w", event, err)
	}
	return answer, nil
}

// instruct asks for an instruction unless one answered each of the last maxContinued ends of
// turns.
func instruct(tail durable.Tail, next NextFunc) (Instruction, error) {
	data, err := tail.Since(max(0, tail.Size-maxSignals))
	if err != nil {
		return Instruction{}, err
	}
	continued := 0
	for _, s := range parse(data) {
		switch {
		case s.Kind == KindTurnEnd && s.Continued:
			continued++
		case s.Kind == KindTurnEnd, s.Kind == KindPrompt:
			continued = 0
		}
	}
	if continued >= maxContinued {
		return Instruction{}, nil
	}
	return next()
}

// continuation is the answer that keeps a program from ending its turn. All programs with such
// a hook share its form.
func continuation(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]string{"decision": "block", "reason": text}); err != nil {
		return noAnswer()
	}
	return b.Bytes()
}

// hookInput is what programs write to their hooks, as far as it is used. A field of the
// wrong type is left empty.
type hookInput struct {
	Session      string          `json:"session_id"`
	Transcript   string          `json:"transcript_path"`
	Tool         string          `json:"tool_name"`
	Prompt       string          `json:"prompt"`
	Message      string          `json:"message"`
	Notification string          `json:"notification_type"`
	LastMessage  string          `json:"last_assistant_message"`
	Error        json.RawMessage `json:"error"`
	ErrorDetails string          `json:"error_details"`
	ErrorContext string          `json:"error_context"` // copilot: model_call, tool_execution, …
	Recoverable  bool            `json:"recoverable"`   // copilot: it tries again
	Usage        *Usage          `json:"usage"`         // the plugin of opencode, in the event Usage
}

// readHook parses an event. One it does not know gets KindOther.
func readHook(event string, data []byte) Signal {
	var in hookInput
	// A type error leaves the other fields filled in.
	_ = json.Unmarshal(data, &in)
	s := Signal{Event: event, Kind: kindOf(event), Session: in.Session, Transcript: in.Transcript, Tool: in.Tool}
	if event == "Usage" {
		s.Usage = in.Usage
	}
	switch s.Kind {
	case KindPrompt:
		s.Text = in.Prompt
	case KindTurnEnd:
		s.Text = in.LastMessage
	case KindIdle:
		s.Text = in.Message
		s.Kind = notification(in.Notification, in.Message)
	case KindTurnFailed:
		if in.ErrorContext == "tool_execution" || in.Recoverable {
			s.Kind = KindOther // the turn continues
			break
		}
		what := errorText(in.Error)
		s.Text = strings.TrimSpace(what + " " + in.ErrorDetails)
		if strings.Contains(what, "rate_limit") || strings.Contains(what, "overloaded") {
			s.Kind = KindRateLimit
		}
	case KindWorking:
		if event == "PreToolUse" && s.Tool == "AskUserQuestion" {
			s.Kind = KindQuestion
		}
	}
	return s
}

// errorText returns what an error says: copilot's has a message in it.
func errorText(data json.RawMessage) string {
	var in struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &in) == nil && in.Message != "" {
		return in.Message
	}
	return strings.Trim(string(data), `"`)
}

// kindOf maps the name of an event to its kind. Programs that share a name share its meaning.
func kindOf(event string) Kind {
	switch event {
	case "SessionStart":
		return KindReady
	case "UserPromptSubmit", "BeforeAgent":
		return KindPrompt
	case "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "BeforeTool", "AfterTool":
		return KindWorking
	case "PermissionRequest":
		return KindPermission
	case "Elicitation":
		return KindQuestion
	case "Notification":
		return KindIdle
	case "Stop", "AfterAgent":
		return KindTurnEnd
	case "StopFailure", "ErrorOccurred":
		return KindTurnFailed
	case "SessionEnd":
		return KindEnd
	}
	return KindOther
}

// notification returns the kind of a notification, by its type or, in older versions, by its
// text.
func notification(kind, text string) Kind {
	switch {
	case kind == "idle_prompt" || kind == "" && strings.Contains(text, "waiting for your input"):
		return KindIdle
	case kind == "permission_prompt" || kind == "ToolPermission" || kind == "" && strings.Contains(text, "permission"):
		return KindPermission
	case strings.HasPrefix(kind, "elicitation_dialog"):
		return KindQuestion
	}
	return KindOther
}

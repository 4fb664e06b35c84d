package signal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent/signal"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func record(t *testing.T, dir, event, input string, next signal.NextFunc) string {
	t.Helper()
	answer, err := signal.Record(dir, event, strings.NewReader(input), noon, next)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(answer))
}

func status(t *testing.T, dir string) signal.Status {
	t.Helper()
	signals, _, err := signal.Read(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	var s signal.Status
	for _, x := range signals {
		s = s.Apply(x)
	}
	return s
}

func TestHooksTellWhatAProgramIsDoing(t *testing.T) {
	dir := t.TempDir()
	for i, step := range []struct {
		event, input string
		want         signal.State
	}{
		{"SessionStart", `{"session_id":"u-1","transcript_path":"/t.jsonl"}`, signal.Ready},
		{"UserPromptSubmit", `{"prompt":"Read it"}`, signal.Working},
		{"PermissionRequest", `{"tool_name":"Bash"}`, signal.WaitingPermission},
		{"Notification", `{"notification_type":"permission_prompt"}`, signal.WaitingPermission},
		{"Notification", `{"notification_type":"idle_prompt"}`, signal.WaitingPermission},
		{"PostToolUse", `{"tool_name":"Bash"}`, signal.Working},
		{"PreToolUse", `{"tool_name":"AskUserQuestion"}`, signal.WaitingAnswer},
		{"PostToolUse", `{"tool_name":"AskUserQuestion"}`, signal.Working},
		{"Notification", `{"notification_type":"auth_success"}`, signal.Working},
		{"Stop", `{"last_assistant_message":"done"}`, signal.Idle},
		{"UserPromptSubmit", `{"prompt":"more"}`, signal.Working},
		{"StopFailure", `{"error":"rate_limit","error_details":"429"}`, signal.RateLimited},
		{"Notification", `{"message":"Claude is waiting for your input"}`, signal.RateLimited},
		{"UserPromptSubmit", `{"prompt":"again"}`, signal.Working},
		{"StopFailure", `{"error":"server_error"}`, signal.Idle},
		{"SessionEnd", `not json`, signal.Exited},
	} {
		if answer := record(t, dir, step.event, step.input, nil); answer != "{}" {
			t.Errorf("step %d: answer %s", i, answer)
		}
		if got := status(t, dir); got.State != step.want {
			t.Errorf("step %d, %s: state %q, want %q", i, step.event, got.State, step.want)
		}
	}
	s := status(t, dir)
	if s.Session != "u-1" || s.Transcript != "/t.jsonl" || s.TurnEnds != 2 || s.Prompts != 3 || s.Prompt != "again" || s.Failure != "server_error" {
		t.Errorf("status %+v", s)
	}
	if info, err := os.Stat(filepath.Join(dir, "events.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("events.jsonl: %v, %v", info, err)
	}
}

// A service answers when a program uses a tool or ends its turn, not when the program takes a line, is refused or waits.
func TestWhenAServiceAnswered(t *testing.T) {
	for kind, want := range map[signal.Kind]bool{
		signal.KindReady: false, signal.KindPrompt: false, signal.KindWorking: true, signal.KindTurnEnd: true, signal.KindTurnFailed: false,
		signal.KindRateLimit: false, signal.KindIdle: false, signal.KindResult: true, signal.KindEnd: false,
	} {
		if got := (signal.Status{}).Apply(signal.Signal{Kind: kind, At: noon}).Answered; got.Equal(noon) != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
	if got := (signal.Status{}).Apply(signal.Signal{Kind: signal.KindResult, Text: "API Error: 429", At: noon}).Answered; !got.IsZero() {
		t.Errorf("a refused run: %s", got)
	}
}

func TestEventsHaveAKind(t *testing.T) {
	for name, c := range map[string]struct {
		event, input string
		want         signal.Kind
		text         string
	}{
		"a session starts":            {"SessionStart", "{}", signal.KindReady, ""},
		"a line":                      {"UserPromptSubmit", `{"prompt":"Read it"}`, signal.KindPrompt, "Read it"},
		"a line, gemini":              {"BeforeAgent", `{"prompt":"Read it"}`, signal.KindPrompt, "Read it"},
		"a tool, gemini":              {"BeforeTool", "{}", signal.KindWorking, ""},
		"a permission is refused":     {"PermissionDenied", "{}", signal.KindWorking, ""},
		"a question by a tool":        {"PreToolUse", `{"tool_name":"AskUserQuestion"}`, signal.KindQuestion, ""},
		"a question of a tool server": {"Elicitation", "{}", signal.KindQuestion, ""},
		"a question by notification":  {"Notification", `{"notification_type":"elicitation_dialog_x"}`, signal.KindQuestion, ""},
		"a permission, older version": {"Notification", `{"message":"needs your permission"}`, signal.KindPermission, "needs your permission"},
		"a permission, gemini":        {"Notification", `{"notification_type":"ToolPermission"}`, signal.KindPermission, ""},
		"an unknown notification":     {"Notification", `{"notification_type":"auth_success"}`, signal.KindOther, ""},
		"a turn ends":                 {"Stop", `{"last_assistant_message":"done"}`, signal.KindTurnEnd, "done"},
		"a turn ends, gemini":         {"AfterAgent", "{}", signal.KindTurnEnd, ""},
		"a turn fails":                {"StopFailure", `{"error":"server_error","error_details":"x"}`, signal.KindTurnFailed, "server_error x"},
		"a turn fails, copilot":       {"ErrorOccurred", `{"error":{"message":"Last error: 401 no","name":"Error"},"error_context":"model_call","recoverable":false}`, signal.KindTurnFailed, "Last error: 401 no"},
		"a try fails, copilot":        {"ErrorOccurred", `{"error":{"message":"Last error: 500"},"error_context":"model_call","recoverable":true}`, signal.KindOther, ""},
		"a tool fails, copilot":       {"ErrorOccurred", `{"error":{"message":"no such file"},"error_context":"tool_execution"}`, signal.KindOther, ""},
		"the service is overloaded":   {"StopFailure", `{"error":"overloaded_error"}`, signal.KindRateLimit, "overloaded_error"},
		"a session ends":              {"SessionEnd", "{}", signal.KindEnd, ""},
		"an unknown event":            {"PreCompact", "{}", signal.KindOther, ""},
		"a field of the wrong type":   {"Stop", `{"session_id":7,"last_assistant_message":"done"}`, signal.KindTurnEnd, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			record(t, dir, c.event, c.input, nil)
			list, _, err := signal.Read(dir, 0)
			if err != nil || len(list) != 1 {
				t.Fatalf("signals %+v, %v", list, err)
			}
			if list[0].Kind != c.want || list[0].Text != c.text {
				t.Errorf("kind %q, text %q; want %q, %q", list[0].Kind, list[0].Text, c.want, c.text)
			}
		})
	}
}

// What an answer used is of an event of its own: another one that has such a field tells nothing.
func TestAHookTellsTheUsage(t *testing.T) {
	dir := t.TempDir()
	for _, event := range []string{"Usage", "PostToolUse"} {
		record(t, dir, event, `{"session_id":"s","usage":{"input_tokens":100,"output_tokens":25,"turn_usd":0.25,"turns":1}}`, nil)
	}
	list, _, err := signal.Read(dir, 0)
	if err != nil || len(list) != 2 || list[0].Usage == nil || list[1].Usage != nil {
		t.Fatalf("signals %+v, %v", list, err)
	}
	if want := (signal.Usage{Input: 100, Output: 25, TurnUSD: 0.25, Turns: 1}); *list[0].Usage != want || list[0].Kind != signal.KindOther {
		t.Errorf("usage %+v, kind %s", *list[0].Usage, list[0].Kind)
	}
}

func TestTurnEndIsAnsweredThreeTimesInARow(t *testing.T) {
	dir := t.TempDir()
	asked := 0
	next := func() (signal.Instruction, error) {
		asked++
		return signal.Instruction{Text: fmt.Sprintf("read @/m/%d.md & act", asked), ID: fmt.Sprint("m", asked)}, nil
	}
	stop := func() string { t.Helper(); return record(t, dir, "Stop", "{}", next) }
	if got := stop(); got != `{"decision":"block","reason":"read @/m/1.md & act"}` {
		t.Errorf("first answer: %s", got)
	}
	if s := status(t, dir); s.State != signal.Working || s.TurnEnds != 0 || !slices.Equal(s.Messages, []string{"m1"}) {
		t.Errorf("status %+v", s)
	}
	stop()
	record(t, dir, "PreToolUse", "{}", next)
	stop()
	if got := stop(); got != "{}" || asked != 3 {
		t.Errorf("fourth in a row: %s, asked %d times", got, asked)
	}
	if got := stop(); got == "{}" {
		t.Error("after a turn that ended nothing may be said any more")
	}
	if answer := record(t, dir, "PostToolUse", "{}", next); answer != "{}" {
		t.Errorf("answer to a tool: %s", answer)
	}
}

func TestHookAnswersEvenWhenItFails(t *testing.T) {
	broken := errors.New("no session")
	dir := t.TempDir()
	answer, err := signal.Record(dir, "Stop", strings.NewReader("{}"), noon, func() (signal.Instruction, error) { return signal.Instruction{}, broken })
	if !errors.Is(err, broken) || strings.TrimSpace(string(answer)) != "{}" {
		t.Errorf("%s, %v", answer, err)
	}
	answer, err = signal.Record(filepath.Join(dir, "none"), "Stop", strings.NewReader("{}"), noon, nil)
	if err == nil || strings.TrimSpace(string(answer)) != "{}" {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestSignalsSurviveWhatAnAgentWrites(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "events.jsonl")
	if list, offset, err := signal.Read(dir, 7); err != nil || len(list) != 0 || offset != 0 {
		t.Errorf("no file: %v, %d, %v", list, offset, err)
	}
	good := `{"at":"2026-05-01T12:00:00Z","event":"Stop","kind":"turn_end"}` + "\n"
	writeFile(t, file, "garbage\n{}\n[1]\n"+good+`{"kind":"ready"`)
	list, offset, err := signal.Read(dir, 0)
	if err != nil || len(list) != 1 || list[0].Kind != signal.KindTurnEnd {
		t.Fatalf("%v, %v", list, err)
	}
	writeFile(t, file, readFile(t, file)+"}\n")
	list, offset, err = signal.Read(dir, offset)
	if err != nil || len(list) != 1 || list[0].Kind != signal.KindReady {
		t.Fatalf("the torn line: %v, %v", list, err)
	}
	writeFile(t, file, good)
	if list, _, err = signal.Read(dir, offset); err != nil || len(list) != 1 {
		t.Errorf("a shorter file: %v, %v", list, err)
	}
	writeFile(t, file, strings.Repeat("x", 3<<20)+"\n"+good)
	found := 0
	for offset = 0; ; {
		list, after, err := signal.Read(dir, offset)
		if err != nil {
			t.Fatal(err)
		}
		found += len(list)
		if after == offset {
			break
		}
		offset = after
	}
	if found != 1 {
		t.Errorf("behind an endless line: %d signals", found)
	}
	if err := errors.Join(os.Remove(file), os.Symlink("/etc/passwd", file)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := signal.Read(dir, 0); err == nil {
		t.Error("a link was followed")
	}
}

func TestSignalTextIsShort(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "UserPromptSubmit", `{"prompt":"`+strings.Repeat("é", 1000)+`"}`, nil)
	if p := status(t, dir).Prompt; len(p) > 500 || !strings.HasPrefix(p, "é") || strings.Contains(p, "\ufffd") {
		t.Errorf("prompt of %d bytes", len(p))
	}
}

func FuzzRecord(f *testing.F) {
	f.Add("Stop", `{"session_id":"x","error":{"a":1}}`)
	f.Add("StopFailure", `{"error":["rate_limit"]}`)
	f.Add("", "\x00")
	f.Fuzz(func(t *testing.T, event, input string) {
		dir := t.TempDir()
		if _, err := signal.Record(dir, event, strings.NewReader(input), noon, nil); err != nil {
			t.Fatal(err)
		}
		if list, _, err := signal.Read(dir, 0); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

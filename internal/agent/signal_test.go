package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func record(t *testing.T, dir, event, input string, next agent.NextFunc) string {
	t.Helper()
	answer, err := agent.Record(dir, event, strings.NewReader(input), noon, next)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(answer))
}

func status(t *testing.T, dir string) agent.Status {
	t.Helper()
	signals, _, err := agent.Signals(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	var s agent.Status
	for _, x := range signals {
		s = s.Apply(x)
	}
	return s
}

func TestHooksTellWhatAProgramIsDoing(t *testing.T) {
	dir := t.TempDir()
	for i, step := range []struct {
		event, input string
		want         agent.State
	}{
		{"SessionStart", `{"session_id":"u-1","transcript_path":"/t.jsonl"}`, agent.Ready},
		{"UserPromptSubmit", `{"prompt":"Read it"}`, agent.Working},
		{"PermissionRequest", `{"tool_name":"Bash"}`, agent.WaitingPermission},
		{"Notification", `{"notification_type":"permission_prompt"}`, agent.WaitingPermission},
		{"Notification", `{"notification_type":"idle_prompt"}`, agent.WaitingPermission},
		{"PostToolUse", `{"tool_name":"Bash"}`, agent.Working},
		{"PreToolUse", `{"tool_name":"AskUserQuestion"}`, agent.WaitingAnswer},
		{"PostToolUse", `{"tool_name":"AskUserQuestion"}`, agent.Working},
		{"Notification", `{"notification_type":"auth_success"}`, agent.Working},
		{"Stop", `{"last_assistant_message":"done"}`, agent.Idle},
		{"UserPromptSubmit", `{"prompt":"more"}`, agent.Working},
		{"StopFailure", `{"error":"rate_limit","error_details":"429"}`, agent.RateLimited},
		{"Notification", `{"message":"Claude is waiting for your input"}`, agent.RateLimited},
		{"UserPromptSubmit", `{"prompt":"again"}`, agent.Working},
		{"StopFailure", `{"error":"server_error"}`, agent.Idle},
		{"SessionEnd", `not json`, agent.Exited},
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

func TestTurnEndIsAnsweredThreeTimesInARow(t *testing.T) {
	dir := t.TempDir()
	asked := 0
	next := func() (agent.Instruction, error) {
		asked++
		return agent.Instruction{Text: fmt.Sprintf("read @/m/%d.md & act", asked), ID: fmt.Sprint("m", asked)}, nil
	}
	stop := func() string { t.Helper(); return record(t, dir, "Stop", "{}", next) }
	if got := stop(); got != `{"decision":"block","reason":"read @/m/1.md & act"}` {
		t.Errorf("first answer: %s", got)
	}
	if s := status(t, dir); s.State != agent.Working || s.TurnEnds != 0 || !slices.Equal(s.Messages, []string{"m1"}) {
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
	answer, err := agent.Record(dir, "Stop", strings.NewReader("{}"), noon, func() (agent.Instruction, error) { return agent.Instruction{}, broken })
	if !errors.Is(err, broken) || strings.TrimSpace(string(answer)) != "{}" {
		t.Errorf("%s, %v", answer, err)
	}
	answer, err = agent.Record(filepath.Join(dir, "none"), "Stop", strings.NewReader("{}"), noon, nil)
	if err == nil || strings.TrimSpace(string(answer)) != "{}" {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestSignalsSurviveWhatAnAgentWrites(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "events.jsonl")
	if list, offset, err := agent.Signals(dir, 7); err != nil || len(list) != 0 || offset != 0 {
		t.Errorf("no file: %v, %d, %v", list, offset, err)
	}
	good := `{"at":"2026-05-01T12:00:00Z","event":"Stop","kind":"turn_end"}` + "\n"
	writeFile(t, file, "garbage\n{}\n[1]\n"+good+`{"kind":"ready"`, 0o600)
	list, offset, err := agent.Signals(dir, 0)
	if err != nil || len(list) != 1 || list[0].Kind != agent.KindTurnEnd {
		t.Fatalf("%v, %v", list, err)
	}
	writeFile(t, file, readFile(t, file)+"}\n", 0o600)
	list, offset, err = agent.Signals(dir, offset)
	if err != nil || len(list) != 1 || list[0].Kind != agent.KindReady {
		t.Fatalf("the torn line: %v, %v", list, err)
	}
	writeFile(t, file, good, 0o600)
	if list, _, err = agent.Signals(dir, offset); err != nil || len(list) != 1 {
		t.Errorf("a shorter file: %v, %v", list, err)
	}
	writeFile(t, file, strings.Repeat("x", 3<<20)+"\n"+good, 0o600)
	found := 0
	for offset = 0; ; {
		list, after, err := agent.Signals(dir, offset)
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
	if _, _, err := agent.Signals(dir, 0); err == nil {
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
		if _, err := agent.Record(dir, event, strings.NewReader(input), noon, nil); err != nil {
			t.Fatal(err)
		}
		if list, _, err := agent.Signals(dir, 0); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

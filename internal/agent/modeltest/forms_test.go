package modeltest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/agent/modeltest"
)

// form is how one vendor's programs ask: a conversation of the person's line and the
// results of tools so far, each as the program sends it.
type form struct {
	path string
	ask  func(line string, results ...string) map[string]any
}

func list[T any](items ...T) []T { return items }

type object = map[string]any

func forms() map[string]form {
	return map[string]form{
		"messages": {"/v1/messages", func(line string, results ...string) object {
			messages := list(person("<system-reminder>not the person</system-reminder>" + line))
			for _, r := range results {
				messages = append(messages, result(r))
			}
			return question(true, messages...)
		}},
		"responses": {"/v1/responses", func(line string, results ...string) object {
			said := func(text string) object {
				return object{"type": "message", "role": "user", "content": list(object{"type": "input_text", "text": text})}
			}
			input := list(said("<environment_context>\n<cwd>/x</cwd>\n</environment_context>"), said(line))
			for _, r := range results {
				input = append(input, object{"type": "function_call", "name": "Write", "arguments": "{}", "call_id": "1"},
					object{"type": "function_call_output", "call_id": "1", "output": r})
			}
			return object{"model": "m", "stream": true, "input": input, "tools": list(object{"type": "function", "name": "Write"})}
		}},
		"chat completions": {"/v1/chat/completions", func(line string, results ...string) object {
			messages := list(object{"role": "system", "content": "be good"}, object{"role": "user", "content": list(object{"type": "text", "text": line})})
			for _, r := range results {
				messages = append(messages, object{"role": "tool", "tool_call_id": "1", "content": r})
			}
			return object{"model": "m", "stream": true, "messages": messages, "tools": list(object{"type": "function", "function": object{"name": "Write"}})}
		}},
		"gemini": {"/v1beta/models/m:streamGenerateContent?alt=sse", func(line string, results ...string) object {
			contents := list(object{"role": "user", "parts": list(object{"text": "<session_context>\nToday.\n</session_context>"})},
				object{"role": "user", "parts": list(object{"text": line})})
			for _, r := range results {
				contents = append(contents, object{"role": "user", "parts": list(object{"functionResponse": object{"name": "Write", "response": object{"output": r}}})})
			}
			return object{"contents": contents, "tools": list(object{"functionDeclarations": list(object{"name": "Write"})})}
		}},
	}
}

// send returns the status and the answer as it was sent.
func send(t *testing.T, s *modeltest.Server, path string, body any) (int, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(s.URL()+path, "application/json", bytes.NewReader(data))
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, string(out)
	}
	return resp.StatusCode, string(out)
}

// All forms say the same: which step answers follows from the conversation.
func TestFormsTellOneScript(t *testing.T) {
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			s := start(t, modeltest.Script{Name: "walk", First: "/s/coder_prompt.md", Steps: []modeltest.Step{
				{Text: "First.", Calls: []modeltest.Call{{Tool: "Write", Input: map[string]string{"file": "a-name"}}}}, {Text: "It is over."},
			}})
			line := "Read and follow the instructions in /s/coder_prompt.md"
			if status, out := send(t, s, f.path, f.ask(line)); status != http.StatusOK || !strings.Contains(out, "First.") ||
				!strings.Contains(out, "Write") || !strings.Contains(out, "a-name") {
				t.Errorf("first step: %d %s", status, out)
			}
			if status, out := send(t, s, f.path, f.ask(line, "written")); status != http.StatusOK || !strings.Contains(out, "over") || strings.Contains(out, "a-name") {
				t.Errorf("second step: %d %s", status, out)
			}
			asked := s.Requests()
			if len(asked) != 2 || asked[0].Prompt.File() != "/s/coder_prompt.md" || asked[0].Prompt.Last != line || len(asked[0].Prompt.Tools) != 1 {
				t.Fatalf("asked %+v", asked)
			}
			if r := asked[1].Prompt.Results; len(r) != 1 || !strings.Contains(r[0].Text, "written") || asked[1].Step != 1 {
				t.Errorf("results %+v, step %d", r, asked[1].Step)
			}
		})
	}
}

func TestFormsFailAlike(t *testing.T) {
	for name, f := range forms() {
		for fault, want := range map[modeltest.Fault]int{
			modeltest.RateLimited: 429, modeltest.Overloaded: 529, modeltest.Broken: 500, modeltest.Unauthorized: 401, modeltest.Cut: 0,
		} {
			s := start(t, modeltest.Script{Steps: []modeltest.Step{{Text: "It is over.", Fault: fault}}})
			if status, out := send(t, s, f.path, f.ask("go")); status != want {
				t.Errorf("%s, %s: %d %s", name, fault, status, out)
			}
		}
	}
}

package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/agent/modeltest"
)

func start(t *testing.T, scripts ...modeltest.Script) *modeltest.Server {
	t.Helper()
	s := modeltest.New(scripts)
	t.Cleanup(s.Close)
	return s
}

// turn is one message of a conversation: text of the person, or the results of tools.
func person(text string) map[string]any { return map[string]any{"role": "user", "content": text} }

func result(text string, beside ...string) map[string]any {
	content := []any{map[string]any{"type": "tool_result", "tool_use_id": "x", "content": []any{map[string]any{"type": "text", "text": text}}}}
	for _, b := range beside {
		content = append(content, map[string]any{"type": "text", "text": b})
	}
	return map[string]any{"role": "user", "content": content}
}

func question(stream bool, messages ...map[string]any) map[string]any {
	return map[string]any{
		"model": "m", "max_tokens": 1000, "stream": stream, "messages": messages,
		"tools": []any{map[string]any{"name": "Write", "input_schema": map[string]any{}}},
	}
}

// ask posts a question and returns status and body.
func ask(t *testing.T, s *modeltest.Server, ctx context.Context, q map[string]any) (int, string, error) {
	t.Helper()
	data, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages?beta=true", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("anthropic-beta", "some-beta-2099-01-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(out), err
}

// said returns what the model answered: its texts and calls in one line.
func said(t *testing.T, s *modeltest.Server, messages ...map[string]any) string {
	t.Helper()
	status, out, err := ask(t, s, t.Context(), question(false, messages...))
	if err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, out)
	}
	var m struct {
		Content []struct {
			Type, Text, Name string
			Input            any
		}
		StopReason string `json:"stop_reason"`
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, p := range m.Content {
		parts = append(parts, strings.TrimSpace(p.Text+p.Name+" "+fmt.Sprint(p.Input)))
	}
	return strings.Join(parts, "; ") + " / " + m.StopReason
}

func write(file string) modeltest.Step {
	return modeltest.Step{Calls: []modeltest.Call{{Tool: "Write", Input: map[string]string{"file": file}}}}
}

func TestStepFollowsFromTheConversationAlone(t *testing.T) {
	two := modeltest.Step{Text: "Both.", Calls: []modeltest.Call{{Tool: "A"}, {Tool: "B"}}}
	s := start(t, modeltest.Script{Name: "coder", First: "coder_prompt", Steps: []modeltest.Step{write("a"), two, {Text: "All done."}}},
		modeltest.Script{Name: "rest", Steps: []modeltest.Step{{Text: "Hm."}}})
	reminder := "<system-reminder>not\nthe person</system-reminder>"
	for _, c := range []struct {
		name     string
		messages []map[string]any
		want     string
	}{
		{"first step", []map[string]any{person("Read /s/coder_prompt_1.md")}, "Write map[file:a] / tool_use"},
		{"the same again", []map[string]any{person("Read /s/coder_prompt_1.md")}, "Write map[file:a] / tool_use"},
		{"after one result", []map[string]any{person("Read /s/coder_prompt_1.md"), result("ok", reminder, "aside")}, "Both. <nil>; A map[]; B map[] / tool_use"},
		{"after both results", []map[string]any{person("x coder_prompt"), result("1"), result("2"), result("3")}, "All done. <nil> / end_turn"},
		{"a new text starts the script again", []map[string]any{person("x coder_prompt"), result("1"), person("go on")}, "Write map[file:a] / tool_use"},
		{"a reminder is not a text", []map[string]any{person("x coder_prompt"), result("1"), person(reminder)}, "Both. <nil>; A map[]; B map[] / tool_use"},
		{"another script", []map[string]any{person("hello")}, "Hm. <nil> / end_turn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := said(t, s, c.messages...); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestScriptsAreToldApartByTheLastText(t *testing.T) {
	s := start(t, modeltest.Script{Last: "read @/s/msgs/1.md", Steps: []modeltest.Step{{Text: "Message."}}},
		modeltest.Script{Steps: []modeltest.Step{{Text: "Task."}}})
	if got := said(t, s, person("go")); got != "Task. <nil> / end_turn" {
		t.Error(got)
	}
	if got := said(t, s, person("go"), person("New ask: read @/s/msgs/1.md")); got != "Message. <nil> / end_turn" {
		t.Error(got)
	}
}

func TestComputedStepsReadThePromptFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "planner_prompt.md")
	if err := os.WriteFile(file, []byte("write plan.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, modeltest.Script{First: "planner_prompt.md", Make: func(p modeltest.Prompt) ([]modeltest.Step, error) {
		text, err := p.Read()
		return []modeltest.Step{write(strings.TrimPrefix(text, "write "))}, err
	}})
	if got := said(t, s, person("Read and follow the instructions in "+file)); got != "Write map[file:plan.yaml] / tool_use" {
		t.Error(got)
	}
	status, out, err := ask(t, s, t.Context(), question(false, person("Read /gone/planner_prompt.md")))
	if err != nil || status != http.StatusInternalServerError || !strings.Contains(out, "no such file") {
		t.Errorf("a script that fails: %d %s %v", status, out, err)
	}
}

func TestStreamTellsTheSameAsTheWholeMessage(t *testing.T) {
	s := start(t, modeltest.Script{Steps: []modeltest.Step{{Text: "Now.", Calls: []modeltest.Call{{Tool: "Write", Input: map[string]string{"file": "a <b>"}}}}}})
	status, out, err := ask(t, s, t.Context(), question(true, person("go")))
	if err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	var names, input []string
	for _, event := range strings.Split(strings.TrimSpace(out), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		var v struct {
			Type  string
			Delta struct {
				Text        string
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &v); !ok || err != nil || v.Type != name {
			t.Fatalf("event %q: %v", event, err)
		}
		names = append(names, name)
		input = append(input, v.Delta.Text+v.Delta.PartialJSON+v.Delta.StopReason)
	}
	want := "message_start ping content_block_start content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("events %s", got)
	}
	if got := strings.Join(input, ""); got != `Now.{"file":"a \u003cb\u003e"}tool_use` {
		t.Errorf("content %s", got)
	}
}

func TestFaults(t *testing.T) {
	for fault, want := range map[modeltest.Fault]int{
		modeltest.RateLimited: 429, modeltest.Overloaded: 529, modeltest.Broken: 500, modeltest.Unauthorized: 401,
	} {
		s := start(t, modeltest.Script{Steps: []modeltest.Step{{Text: "Now.", Fault: fault, Times: 2}}})
		for try, status := range []int{want, want, http.StatusOK} {
			got, out, err := ask(t, s, t.Context(), question(true, person("go")))
			if err != nil || got != status {
				t.Errorf("%s, try %d: %d %s %v, want %d", fault, try+1, got, out, err, status)
			}
		}
		if r := s.Requests(); len(r) != 3 || r[1].Status != want || r[1].Fault != fault || r[2].Fault != "" {
			t.Errorf("%s: requests %+v", fault, r)
		}
	}
}

func TestCutEndsInTheMiddle(t *testing.T) {
	s := start(t, modeltest.Script{Steps: []modeltest.Step{{Text: "abcdefgh", Fault: modeltest.Cut}}})
	_, out, err := ask(t, s, t.Context(), question(true, person("go")))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(out, `"abcd"`) || strings.Contains(out, "message_stop") {
		t.Errorf("stream %v: %s", err, out)
	}
	if _, _, err := ask(t, s, t.Context(), question(false, person("go"))); err == nil {
		t.Error("a cut whole message arrives")
	}
}

func TestHangLastsUntilOneSideGivesUp(t *testing.T) {
	s := modeltest.New(modeltest.Scripts{{Steps: []modeltest.Step{{Fault: modeltest.Hang}}}})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := ask(t, s, ctx, question(true, person("go"))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the program gives up: %v", err)
	}
	ended := make(chan error)
	go func() {
		_, _, err := ask(t, s, context.Background(), question(true, person("go")))
		ended <- err
	}()
	eventually(t, "the second request is there", func() bool { return len(s.Requests()) == 2 })
	s.Close()
	if err := <-ended; err == nil {
		t.Error("a request that hangs survives the server")
	}
}

func TestRequestsBesideTheConversation(t *testing.T) {
	s := start(t, modeltest.Script{Steps: []modeltest.Step{{Text: "Scripted.", Fault: modeltest.Broken}}})
	q := question(false, person("Write a title"))
	delete(q, "tools")
	if status, out, err := ask(t, s, t.Context(), q); err != nil || status != http.StatusOK || strings.Contains(out, "Scripted") {
		t.Errorf("no tools: %d %s %v", status, out, err)
	}
	if r := s.Requests(); len(r) != 1 || !r[0].Aux || r[0].Beta == "" {
		t.Errorf("requests %+v", r)
	}
	for path, want := range map[string]string{"/v1/models": "claude-haiku", "/v1/models/abc": `"id":"abc"`, "/api/else": "not_found_error"} {
		resp, err := http.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %s %v", path, out, err)
		}
	}
	resp, err := http.Post(s.URL()+"/v1/messages/count_tokens", "application/json", strings.NewReader(`{"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var count struct {
		Tokens int `json:"input_tokens"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&count); err != nil || count.Tokens < 1 {
		t.Errorf("tokens %+v, %v", count, err)
	}
}

func TestRequestsTellWhatToolsReturned(t *testing.T) {
	s := start(t, modeltest.Script{Name: "one", Steps: []modeltest.Step{write("a"), {}}})
	failed := result("no such file")
	failed["content"].([]any)[0].(map[string]any)["is_error"] = true
	said(t, s, person("go"), result("fine"), failed)
	r := s.Requests()
	if len(r) != 1 || len(r[0].Prompt.Results) != 2 || r[0].Prompt.Results[0] != (modeltest.Result{Text: "fine"}) ||
		r[0].Prompt.Results[1] != (modeltest.Result{Text: "no such file", Error: true}) || r[0].Script != "one" || r[0].Step != 1 {
		t.Errorf("requests %+v", r)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(60 * time.Second)
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

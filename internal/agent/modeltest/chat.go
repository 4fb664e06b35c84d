package modeltest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// chat is the form of OpenAI's Chat Completions API.
type chat struct{}

type chatBody struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

func (chat) read(_ *http.Request, data []byte) (question, error) {
	var b chatBody
	if err := json.Unmarshal(data, &b); err != nil {
		return question{}, err
	}
	q := question{model: b.Model, stream: b.Stream, aux: len(b.Tools) == 0}
	for _, t := range b.Tools {
		q.prompt.Tools = append(q.prompt.Tools, t.Function.Name)
	}
	for _, m := range b.Messages {
		switch m.Role {
		case "user":
			q.prompt.say(texts(m.Content))
		case "tool":
			q.prompt.returned(texts(m.Content), false)
		}
	}
	return q, nil
}

func (chat) write(w http.ResponseWriter, q question, step Step, cut bool) {
	message := map[string]any{"role": "assistant", "content": step.words()}
	reason := "stop"
	var calls []any
	for i, c := range step.Calls {
		reason = "tool_calls"
		calls = append(calls, map[string]any{"index": i, "id": "call_" + rand.Text(), "type": "function",
			"function": map[string]any{"name": c.Tool, "arguments": c.arguments()}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	whole := map[string]any{"id": "chatcmpl-" + rand.Text(), "created": time.Now().Unix(), "model": q.model}
	use := map[string]any{"prompt_tokens": inputTokens, "completion_tokens": outputTokens, "total_tokens": inputTokens + outputTokens}
	if !q.stream {
		whole["object"], whole["usage"] = "chat.completion", use
		whole["choices"] = []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}}
		if cut {
			panic(http.ErrAbortHandler)
		}
		writeJSON(w, http.StatusOK, whole)
		return
	}
	whole["object"] = "chat.completion.chunk"
	e := newEvents(w)
	send := func(delta map[string]any, reason any, use any) {
		whole["choices"] = []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}
		if use != nil {
			whole["usage"] = use
		}
		e.data(whole)
	}
	send(message, nil, nil)
	if cut {
		panic(http.ErrAbortHandler)
	}
	send(map[string]any{}, reason, use)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (chat) refuse(w http.ResponseWriter, status int, kind, text string) {
	responses{}.refuse(w, status, kind, text)
}

package modeltest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
)

// responses is the form of OpenAI's Responses API.
type responses struct{}

// responsesBody is the part of a request that matters here.
type responsesBody struct {
	Model  string          `json:"model"`
	Stream bool            `json:"stream"`
	Input  []responsesItem `json:"input"`
	Tools  []struct {
		Name  string `json:"name"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"` // of a namespace
	} `json:"tools"`
}

type responsesItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"` // of a call
}

func (responses) read(_ *http.Request, data []byte) (question, error) {
	var b responsesBody
	if err := json.Unmarshal(data, &b); err != nil {
		return question{}, err
	}
	q := question{model: b.Model, stream: b.Stream}
	for _, t := range b.Tools {
		if len(t.Tools) == 0 {
			q.prompt.Tools = append(q.prompt.Tools, t.Name)
		}
		for _, inner := range t.Tools {
			q.prompt.Tools = append(q.prompt.Tools, t.Name+inner.Name)
		}
	}
	for _, item := range b.Input {
		switch item.Type {
		case "", "message":
			if item.Role == "user" {
				q.prompt.say(texts(item.Content))
			}
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
			q.prompt.returned(texts(item.Output), false)
		}
	}
	q.aux = len(q.prompt.Tools) == 0
	return q, nil
}

func (responses) write(w http.ResponseWriter, q question, step Step, cut bool) {
	id := "resp_" + rand.Text()
	e := newEvents(w)
	e.send("response.created", map[string]any{"response": map[string]any{"id": id, "object": "response", "status": "in_progress", "output": []any{}}})
	var output []any
	add := func(item map[string]any) {
		e.send("response.output_item.added", map[string]any{"output_index": len(output), "item": item})
		if cut {
			panic(http.ErrAbortHandler)
		}
		if item["type"] == "message" {
			e.send("response.output_text.delta", map[string]any{"item_id": item["id"], "output_index": len(output), "content_index": 0, "delta": step.Text})
		}
		e.send("response.output_item.done", map[string]any{"output_index": len(output), "item": item})
		output = append(output, item)
	}
	if text := step.words(); text != "" {
		add(map[string]any{"type": "message", "id": "msg_" + rand.Text(), "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}}})
	}
	for _, c := range step.Calls {
		item := map[string]any{"type": "function_call", "id": "fc_" + rand.Text(), "call_id": "call_" + rand.Text(), "status": "completed",
			"name": c.Tool, "arguments": c.arguments()}
		if c.Space != "" {
			item["namespace"] = c.Space
		}
		if c.Free != "" {
			delete(item, "arguments")
			item["type"], item["input"] = "custom_tool_call", c.Free
		}
		add(item)
	}
	e.send("response.completed", map[string]any{"response": map[string]any{
		"id": id, "object": "response", "status": "completed", "model": q.model, "output": output,
		"usage": map[string]any{
			"input_tokens": inputTokens, "output_tokens": outputTokens, "total_tokens": inputTokens + outputTokens,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		},
	}})
}

func (responses) refuse(w http.ResponseWriter, status int, kind, text string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"type": kind, "code": kind, "message": text, "param": nil}})
}

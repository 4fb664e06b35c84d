package modeltest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
)

// reply is a whole message of the model.
type reply struct {
	ID         string  `json:"id"`
	Type       string  `json:"type"`
	Role       string  `json:"role"`
	Model      string  `json:"model"`
	Content    []part  `json:"content"`
	StopReason *string `json:"stop_reason"`
	StopSeq    *string `json:"stop_sequence"`
	Usage      usage   `json:"usage"`
}

// part is a text or a use of a tool.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Input any    `json:"input,omitempty"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
}

// Tokens that every answer claims to have used.
const (
	inputTokens  = 100
	outputTokens = 20
)

func newReply(model string, step Step) reply {
	reason := "end_turn"
	m := reply{
		ID: "msg_" + rand.Text(), Type: "message", Role: "assistant", Model: model, Content: []part{},
		StopReason: &reason, Usage: usage{Input: inputTokens, Output: outputTokens},
	}
	if text := step.words(); text != "" {
		m.Content = append(m.Content, part{Type: "text", Text: text})
	}
	for _, c := range step.Calls {
		reason = "tool_use"
		m.Content = append(m.Content, part{Type: "tool_use", ID: "toolu_" + rand.Text(), Name: c.Tool, Input: c.input()})
	}
	return m
}

// stream sends the message as server-sent events; cut ends the connection half way.
func (m reply) stream(w http.ResponseWriter, cut bool) {
	e := newEvents(w)
	start := m
	start.Content, start.StopReason, start.Usage.Output = []part{}, nil, 1
	e.send("message_start", map[string]any{"message": start})
	e.send("ping", map[string]any{})
	for i, p := range m.Content {
		if cut {
			p = p.half()
		}
		e.part(i, p, cut)
		if cut {
			panic(http.ErrAbortHandler) // the connection is closed without an end
		}
	}
	e.send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": m.StopReason, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": m.Usage.Output},
	})
	e.send("message_stop", map[string]any{})
}

func (p part) half() part {
	p.Text = p.Text[:len(p.Text)/2]
	return p
}

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func newEvents(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return events{w: w}
}

// send writes an event with a name.
func (e events) send(name string, data map[string]any) {
	data["type"] = name
	fmt.Fprintf(e.w, "event: %s\n", name)
	e.data(data)
}

// data writes the data of an event.
func (e events) data(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", text)
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// part sends one block: its beginning, its content in two pieces, its end.
func (e events) part(index int, p part, cut bool) {
	delta := func(kind, key, text string) {
		e.send("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": kind, key: text}})
	}
	if p.Type == "text" {
		e.send("content_block_start", map[string]any{"index": index, "content_block": map[string]any{"type": "text", "text": ""}})
		delta("text_delta", "text", p.Text)
	} else {
		e.send("content_block_start", map[string]any{"index": index, "content_block": map[string]any{
			"type": p.Type, "id": p.ID, "name": p.Name, "input": map[string]any{},
		}})
		input, err := json.Marshal(p.Input)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		half := len(input) / 2
		delta("input_json_delta", "partial_json", string(input[:half]))
		if cut {
			return
		}
		delta("input_json_delta", "partial_json", string(input[half:]))
	}
	if !cut {
		e.send("content_block_stop", map[string]any{"index": index})
	}
}

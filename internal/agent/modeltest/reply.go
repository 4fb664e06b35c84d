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
	e.send(messagesEvent{Type: "message_start", Message: &start})
	e.send(messagesEvent{Type: "ping"})
	for i, p := range m.Content {
		if cut {
			p = p.half()
		}
		e.part(i, p, cut)
		if cut {
			panic(http.ErrAbortHandler) // the connection is closed without an end
		}
	}
	e.send(messagesEvent{
		Type: "message_delta", Delta: messageDelta{StopReason: m.StopReason}, Usage: &outputUsage{Output: m.Usage.Output},
	})
	e.send(messagesEvent{Type: "message_stop"})
}

// messagesEvent is an event of a stream; its type is the event's name.
type messagesEvent struct {
	Type    string       `json:"type"`
	Message *reply       `json:"message,omitempty"`
	Index   *int         `json:"index,omitempty"`
	Block   *openBlock   `json:"content_block,omitempty"`
	Delta   any          `json:"delta,omitempty"` // a messageDelta or a blockDelta
	Usage   *outputUsage `json:"usage,omitempty"`
}

func (e messagesEvent) name() string { return e.Type }

type messageDelta struct {
	StopReason *string `json:"stop_reason"`
	StopSeq    *string `json:"stop_sequence"`
}

type outputUsage struct {
	Output int `json:"output_tokens"`
}

// openBlock is a part of which nothing is said yet.
type openBlock struct {
	Type  string    `json:"type"`
	Text  *string   `json:"text,omitempty"`
	ID    string    `json:"id,omitempty"`
	Name  string    `json:"name,omitempty"`
	Input *struct{} `json:"input,omitempty"`
}

type blockDelta struct {
	Type    string  `json:"type"`
	Text    *string `json:"text,omitempty"`
	Partial *string `json:"partial_json,omitempty"`
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
func (e events) send(event interface{ name() string }) {
	fmt.Fprintf(e.w, "event: %s\n", event.name())
	e.data(event)
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
	start := func(block openBlock) {
		e.send(messagesEvent{Type: "content_block_start", Index: &index, Block: &block})
	}
	delta := func(d blockDelta) { e.send(messagesEvent{Type: "content_block_delta", Index: &index, Delta: d}) }
	if p.Type == "text" {
		start(openBlock{Type: "text", Text: new("")})
		delta(blockDelta{Type: "text_delta", Text: &p.Text})
	} else {
		start(openBlock{Type: p.Type, ID: p.ID, Name: p.Name, Input: &struct{}{}})
		input, err := json.Marshal(p.Input)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		half := len(input) / 2
		delta(blockDelta{Type: "input_json_delta", Partial: new(string(input[:half]))})
		if cut {
			return
		}
		delta(blockDelta{Type: "input_json_delta", Partial: new(string(input[half:]))})
	}
	if !cut {
		e.send(messagesEvent{Type: "content_block_stop", Index: &index})
	}
}

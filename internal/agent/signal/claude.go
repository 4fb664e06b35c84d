package signal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// streamEvent is one line of the stream-json output of claude and qwen, as far as it is used
// (seen with claude 2.1.330 and qwen 0.15.10).
type streamEvent struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Model   string `json:"model"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	IsError bool    `json:"is_error"`
	Result  string  `json:"result"`
	Cost    float64 `json:"total_cost_usd"`
	Turns   int64   `json:"num_turns"`
	Usage   *struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
		Total      int64 `json:"total_tokens"` // qwen, whose input has what came from a cache in it
		Details    struct {
			Reasoning int64 `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"` // of a result, by qwen; what claude has there are words
}

// block is one part of a message.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

func claudeLine(line []byte, v *view) bool {
	var e streamEvent
	if !decode(line, &e) || e.Type == "" {
		return false
	}
	switch e.Type {
	case "system":
		if e.Subtype == "init" {
			v.show("* ", "session "+e.Session+" "+e.Model)
		}
	case "assistant", "user":
		for _, b := range blocks(e.Message.Content) {
			b.show(v)
		}
	case "result":
		cost := ""
		if e.Cost > 0 {
			cost = fmt.Sprintf(", $%.4f", e.Cost)
		}
		v.show("* ", fmt.Sprintf("%s after %d turns%s", e.Subtype, e.Turns, cost))
		if e.IsError {
			v.show("! ", cmp.Or(e.Result, errorText(e.Error)))
		}
		v.emit(e.signal())
	}
	return true
}

// signal returns the signal for the end of the run.
func (e streamEvent) signal() Signal {
	s := Signal{At: time.Now().UTC(), Event: "result/" + e.Subtype, Kind: KindResult, Session: e.Session}
	if u := e.Usage; u != nil {
		s.Usage = &Usage{
			Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
			Reasoning: u.Details.Reasoning, USD: e.Cost, Turns: e.Turns,
		}
		if u.Total > 0 {
			s.Usage.Input -= u.CacheRead
		}
	}
	if e.IsError {
		s.Text = cmp.Or(e.Result, errorText(e.Error), e.Subtype)
		if strings.Contains(s.Text, "429") || strings.Contains(s.Text, "529") || strings.Contains(strings.ToLower(s.Text), "limit reached") {
			s.Kind = KindRateLimit
		}
	}
	return s
}

// blocks parses the content of a message, which may also be plain text.
func blocks(content json.RawMessage) []block {
	var list []block
	if json.Unmarshal(content, &list) == nil {
		return list
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	return nil
}

func (b block) show(v *view) {
	switch b.Type {
	case "text":
		v.show("", b.Text)
	case "tool_use":
		v.call(b.Name, string(b.Input))
	case "tool_result":
		for _, part := range blocks(b.Content) {
			v.answer(b.IsError, part.Text)
		}
	}
}

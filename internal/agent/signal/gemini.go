package signal

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// geminiEvent is one line of gemini's stream-json output, as far as it is used (seen with gemini
// 0.61.0).
type geminiEvent struct {
	Type    string `json:"type"`
	Session string `json:"session_id"`
	Model   string `json:"model"`

	Role    string `json:"role"`
	Content string `json:"content"` // of the model a piece, of which more may follow

	Tool       string          `json:"tool_name"`
	Parameters json.RawMessage `json:"parameters"`
	Output     string          `json:"output"`

	Status  string `json:"status"`
	Message string `json:"message"` // of an error
	Error   struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"` // of Input
	} `json:"stats"` // of the run
}

func geminiLine(line []byte, v *view) bool {
	var e geminiEvent
	if !decode(line, &e) || e.Type == "" {
		return false
	}
	switch e.Type {
	case "init":
		v.show("* ", "session "+e.Session+" "+e.Model)
	case "message":
		if e.Role == "assistant" {
			v.part(e.Content)
		} else {
			v.show("", shorten(e.Content, 400))
		}
	case "tool_use":
		v.call(e.Tool, string(e.Parameters))
	case "tool_result":
		v.answer(e.Status != "success", cmp.Or(e.Output, e.Error.Message))
	case "error":
		v.show("! ", e.Message)
	case "result":
		e.ends(v)
	}
	return true
}

func (e geminiEvent) ends(v *view) {
	var u *Usage
	if s := e.Stats; s != nil {
		u = &Usage{Input: s.Input - s.Cached, CacheRead: s.Cached, Output: s.Output}
		v.show("* ", fmt.Sprintf("%s, %d tokens in, %d out", e.Status, s.Input, s.Output))
	}
	text := ""
	if e.Status != "success" {
		text = cmp.Or(e.Error.Message, e.Status)
		v.show("! ", text)
	}
	v.result("result/"+e.Status, "", text, u)
}

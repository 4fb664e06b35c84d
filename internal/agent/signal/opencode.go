package signal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

// opencodeEvent is one line of what opencode run --format json writes, as far as it is used (seen
// with opencode 1.18.33).
type opencodeEvent struct {
	Type string `json:"type"`
	Part struct {
		Text  string `json:"text"`
		Tool  string `json:"tool"`
		State struct {
			Status string          `json:"status"`
			Input  json.RawMessage `json:"input"`
			Output string          `json:"output"`
			Error  string          `json:"error"`
		} `json:"state"`
		Reason string `json:"reason"` // why a step is over
		Tokens *struct {
			Input     int64 `json:"input"` // without those of the cache
			Output    int64 `json:"output"`
			Reasoning int64 `json:"reasoning"` // beside Output
			Cache     struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"` // of the step
		Cost float64 `json:"cost"` // of the step
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string            `json:"message"`
			Status  int               `json:"statusCode"`
			Headers map[string]string `json:"responseHeaders"`
		} `json:"data"`
	} `json:"error"`
}

func opencodeLine(line []byte, v *view) bool {
	var e opencodeEvent
	if !decode(line, &e) || e.Type == "" {
		return false
	}
	switch e.Type {
	case "text", "reasoning":
		v.show("", e.Part.Text)
	case "tool_use":
		state := e.Part.State
		v.call(e.Part.Tool, string(state.Input))
		v.answer(state.Status == "error", cmp.Or(state.Output, state.Error))
	case "step_finish":
		e.steps(v)
	case "error":
		text := e.fault()
		v.show("! ", text)
		v.result(e.Type, "", text, nil)
	}
	return true
}

// fault is what an error says: its status as the entry of the provider knows it, and how long to wait.
func (e opencodeEvent) fault() string {
	d := e.Error.Data
	text := shorten(cmp.Or(d.Message, e.Error.Name, e.Type), 200)
	if d.Status != 0 {
		text += fmt.Sprintf(` "statusCode":%d`, d.Status)
	}
	if after := d.Headers["retry-after"]; after != "" {
		text += ", retry-after: " + shorten(after, 40)
	}
	return text
}

// steps emits the end of a step, which is the end of the turn if no tool is to be used.
func (e opencodeEvent) steps(v *view) {
	s := Signal{At: time.Now().UTC(), Event: e.Type, Kind: KindResult}
	if e.Part.Reason == "tool-calls" {
		s.Kind = KindWorking
	}
	if t := e.Part.Tokens; t != nil {
		s.Usage = &Usage{
			Input: t.Input, Output: t.Output + t.Reasoning, CacheRead: t.Cache.Read, CacheWrite: t.Cache.Write,
			Reasoning: t.Reasoning, TurnUSD: e.Part.Cost, Turns: 1,
		}
	}
	v.emit(s)
}

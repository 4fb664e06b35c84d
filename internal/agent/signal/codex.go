package signal

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// codexEvent is one line of what codex exec --json writes, as far as it is used (seen with codex
// 0.169.0). What a session has used is not taken from here: it is a running total of its thread,
// and the transcript has it by launch.
type codexEvent struct {
	Type    string `json:"type"`
	Thread  string `json:"thread_id"`
	Message string `json:"message"` // of an error; it may be followed by another try
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Item codexItem `json:"item"`
}

// codexItem is one thing that codex does. It is told when it begins and when it is completed.
type codexItem struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Message string `json:"message"`
	Query   string `json:"query"`

	Command string `json:"command"`
	Output  string `json:"aggregated_output"`
	Code    *int   `json:"exit_code"`

	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    struct {
		Content json.RawMessage `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`

	Changes []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
}

func codexLine(line []byte, v *view) bool {
	var e codexEvent
	if !decode(line, &e) || e.Type == "" {
		return false
	}
	switch e.Type {
	case "thread.started":
		v.show("* ", "session "+e.Thread)
	case "item.started":
		e.Item.begins(v)
	case "item.completed":
		e.Item.ends(v)
	case "turn.completed":
		v.show("* ", "the turn is over")
		v.result(e.Type, "", "", nil)
	case "turn.failed":
		v.show("! ", e.Error.Message)
		v.result(e.Type, "", cmp.Or(e.Error.Message, e.Type), nil)
	case "error":
		v.show("! ", e.Message)
	}
	return true
}

func (i codexItem) begins(v *view) {
	switch i.Type {
	case "command_execution":
		v.call("run", i.Command)
	case "mcp_tool_call":
		v.call(i.Server+"."+i.Tool, string(i.Arguments))
	}
}

func (i codexItem) ends(v *view) {
	switch i.Type {
	case "agent_message", "reasoning":
		v.show("", i.Text)
	case "command_execution":
		v.answer(i.Code != nil && *i.Code != 0, i.Output)
	case "mcp_tool_call":
		if i.Error != nil {
			v.answer(true, i.Error.Message)
		}
		for _, part := range blocks(i.Result.Content) {
			v.answer(false, part.Text)
		}
	case "file_change":
		for _, c := range i.Changes {
			v.show("> ", fmt.Sprintf("%s %s", c.Kind, c.Path))
		}
	case "web_search":
		v.call("search", i.Query)
	case "error":
		v.show("! ", i.Message)
	}
}

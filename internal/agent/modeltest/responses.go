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

// responsesEvent is an event of a stream; its type is the event's name.
type responsesEvent struct {
	Type     string           `json:"type"`
	Response *responsesAnswer `json:"response,omitempty"`
	Index    *int             `json:"output_index,omitempty"`
	Item     *responsesOutput `json:"item,omitempty"`
	ItemID   string           `json:"item_id,omitempty"`
	Content  *int             `json:"content_index,omitempty"`
	Delta    *string          `json:"delta,omitempty"`
}

func (e responsesEvent) name() string { return e.Type }

type responsesAnswer struct {
	ID     string            `json:"id"`
	Object string            `json:"object"`
	Status string            `json:"status"`
	Model  string            `json:"model,omitempty"`
	Output []responsesOutput `json:"output"`
	Usage  *responsesUsage   `json:"usage,omitempty"`
}

// responsesOutput is a message, a call of a function or a call of a tool that takes any text.
type responsesOutput struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Role      string          `json:"role,omitempty"`
	Content   []responsesText `json:"content,omitempty"`
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Space     string          `json:"namespace,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	Input     string          `json:"input,omitempty"`
}

type responsesText struct {
	Type        string     `json:"type"`
	Text        string     `json:"text"`
	Annotations []struct{} `json:"annotations"`
}

type responsesUsage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Total   int `json:"total_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// responsesError is the error of both forms of OpenAI.
type responsesError struct {
	Error struct {
		Type    string  `json:"type"`
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
	} `json:"error"`
}

// outputs are what a step answers, in order.
func outputs(step Step) []responsesOutput {
	list := []responsesOutput{}
	if text := step.words(); text != "" {
		list = append(list, responsesOutput{
			Type: "message", ID: "msg_" + rand.Text(), Status: "completed", Role: "assistant",
			Content: []responsesText{{Type: "output_text", Text: text, Annotations: []struct{}{}}},
		})
	}
	for _, c := range step.Calls {
		item := responsesOutput{
			Type: "function_call", ID: "fc_" + rand.Text(), CallID: "call_" + rand.Text(), Status: "completed", Name: c.Tool, Space: c.Space,
		}
		if c.Free != "" {
			item.Type, item.Input = "custom_tool_call", c.Free
		} else {
			item.Arguments = c.arguments()
		}
		list = append(list, item)
	}
	return list
}

func (responses) write(w http.ResponseWriter, q question, step Step, cut bool) {
	out := responsesAnswer{ID: "resp_" + rand.Text(), Object: "response", Status: "in_progress", Output: []responsesOutput{}}
	e := newEvents(w)
	e.send(responsesEvent{Type: "response.created", Response: &out})
	all := outputs(step)
	for i, item := range all {
		e.send(responsesEvent{Type: "response.output_item.added", Index: &i, Item: &item})
		if cut {
			panic(http.ErrAbortHandler)
		}
		if item.Type == "message" {
			e.send(responsesEvent{Type: "response.output_text.delta", ItemID: item.ID, Index: &i, Content: new(0), Delta: &step.Text})
		}
		e.send(responsesEvent{Type: "response.output_item.done", Index: &i, Item: &item})
	}
	out.Status, out.Model, out.Output = "completed", q.model, all
	out.Usage = &responsesUsage{Input: inputTokens, Output: outputTokens, Total: inputTokens + outputTokens}
	e.send(responsesEvent{Type: "response.completed", Response: &out})
}

func (responses) refuse(w http.ResponseWriter, status int, kind, text string) {
	var out responsesError
	out.Error.Type, out.Error.Code, out.Error.Message = kind, kind, text
	writeJSON(w, status, out)
}

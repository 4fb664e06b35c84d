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

// chatAnswer is a whole answer, or a chunk of one.
type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index   int          `json:"index"`
	Message *chatMessage `json:"message,omitempty"` // of a whole answer
	Delta   *chatMessage `json:"delta,omitempty"`   // of a chunk
	Reason  *string      `json:"finish_reason"`
}

type chatMessage struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    int          `json:"index"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// newChatMessage returns the message of a step and why it ends.
func newChatMessage(step Step) (m chatMessage, reason string) {
	m, reason = chatMessage{Role: "assistant", Content: new(step.words())}, "stop"
	for i, c := range step.Calls {
		reason = "tool_calls"
		m.Calls = append(m.Calls, chatCall{
			Index: i, ID: "call_" + rand.Text(), Type: "function", Function: chatFunction{Name: c.Tool, Arguments: c.arguments()},
		})
	}
	return m, reason
}

func (chat) write(w http.ResponseWriter, q question, step Step, cut bool) {
	message, reason := newChatMessage(step)
	out := chatAnswer{ID: "chatcmpl-" + rand.Text(), Object: "chat.completion", Created: time.Now().Unix(), Model: q.model}
	use := &chatUsage{Prompt: inputTokens, Completion: outputTokens, Total: inputTokens + outputTokens}
	if !q.stream {
		out.Choices, out.Usage = []chatChoice{{Message: &message, Reason: &reason}}, use
		if cut {
			panic(http.ErrAbortHandler)
		}
		writeJSON(w, http.StatusOK, out)
		return
	}
	e := newEvents(w)
	out.Object, out.Choices = "chat.completion.chunk", []chatChoice{{Delta: &message}}
	e.data(out)
	if cut {
		panic(http.ErrAbortHandler)
	}
	out.Choices, out.Usage = []chatChoice{{Delta: &chatMessage{}, Reason: &reason}}, use
	e.data(out)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (chat) refuse(w http.ResponseWriter, status int, kind, text string) {
	responses{}.refuse(w, status, kind, text)
}

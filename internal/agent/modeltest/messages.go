package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// messages is the form of Anthropic's Messages API.
type messages struct{}

// messagesBody is the part of a request that matters here.
type messagesBody struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	Stream    bool      `json:"stream"`
	Messages  []message `json:"messages"`
	Tools     []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

type message struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

// blocks are the parts of a message; a plain text is one.
type blocks []block

type block struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
	Content blocks `json:"content"` // of a tool result
}

// UnmarshalJSON takes a text or a list of blocks.
func (b *blocks) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*b = blocks{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]block)(b))
}

func (b blocks) text() string {
	var texts []string
	for _, part := range b {
		if part.Type == "text" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// said is the person's part of a message: nothing where it holds tool results, because
// text beside these is the program's.
func (m message) said() string {
	if m.Role != "user" {
		return ""
	}
	for _, part := range m.Content {
		if part.Type == "tool_result" {
			return ""
		}
	}
	return m.Content.text()
}

func (messages) read(_ *http.Request, data []byte) (question, error) {
	var b messagesBody
	if err := json.Unmarshal(data, &b); err != nil {
		return question{}, err
	}
	q := question{model: b.Model, stream: b.Stream, aux: len(b.Tools) == 0 || b.MaxTokens == 1} // an agent at work has tools
	for _, t := range b.Tools {
		q.prompt.Tools = append(q.prompt.Tools, t.Name)
	}
	for _, m := range b.Messages {
		q.prompt.say(m.said())
		for _, part := range m.Content {
			if part.Type == "tool_result" {
				q.prompt.returned(part.Content.text(), part.IsError)
			}
		}
	}
	return q, nil
}

func (messages) write(w http.ResponseWriter, q question, step Step, cut bool) {
	m := newReply(q.model, step)
	switch {
	case q.stream:
		m.stream(w, cut)
	case cut:
		panic(http.ErrAbortHandler)
	default:
		writeJSON(w, http.StatusOK, m)
	}
}

type messagesError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

func (messages) refuse(w http.ResponseWriter, status int, kind, text string) {
	out := messagesError{Type: "error"}
	out.Error.Type, out.Error.Message = kind, text
	writeJSON(w, status, out)
}

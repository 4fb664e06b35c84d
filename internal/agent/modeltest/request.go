package modeltest

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// Request is a question a program asked the server.
type Request struct {
	At     time.Time
	Path   string
	Beta   string // the anthropic-beta header
	Model  string
	Stream bool
	Aux    bool   // beside the conversation: no tools offered
	Script string // name of the script that served; "" when none fitted
	Step   int    // of that script, from 0
	Fault  Fault  // that was answered
	Prompt Prompt // what had been said
	Status int
}

// Result is what a tool returned to the model.
type Result struct {
	Text  string
	Error bool
}

// body is the part of a Messages request that matters here.
type body struct {
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

// reminder is what programs put between the words of the person.
var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)

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
	return strings.TrimSpace(reminder.ReplaceAllString(m.Content.text(), ""))
}

// conversation reads who said what.
func (b body) conversation() Prompt {
	var p Prompt
	for _, t := range b.Tools {
		p.Tools = append(p.Tools, t.Name)
	}
	for _, m := range b.Messages {
		if text := m.said(); text != "" {
			if p.First == "" {
				p.First = text
			}
			p.Last, p.Results = text, nil
			continue
		}
		for _, part := range m.Content {
			if part.Type == "tool_result" {
				p.Results = append(p.Results, Result{Text: part.Content.text(), Error: part.IsError})
			}
		}
	}
	return p
}

// aux reports a request beside the conversation: an agent at work has tools.
func (b body) aux() bool { return len(b.Tools) == 0 || b.MaxTokens == 1 }

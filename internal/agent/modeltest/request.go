package modeltest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// dialect is the form of one vendor's service.
type dialect interface {
	read(r *http.Request, body []byte) (question, error)
	// write answers with a step; cut ends the connection half way.
	write(w http.ResponseWriter, q question, step Step, cut bool)
	refuse(w http.ResponseWriter, status int, kind, text string)
}

// question is what a program asked, whatever the form.
type question struct {
	model  string
	stream bool
	aux    bool // beside the conversation
	prompt Prompt
}

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
	Body   []byte // of the conversation's requests
}

// Result is what a tool returned to the model.
type Result struct {
	Text  string
	Error bool
}

// blockStart begins the program's own talk between the words of the person.
var blockStart = regexp.MustCompile(`<([a-z][a-z_-]*)( [^>]*)?>`)

// spoken is text without the blocks that programs put around the words of the person.
func spoken(text string) string {
	for {
		at := blockStart.FindStringSubmatchIndex(text)
		if at == nil {
			return strings.TrimSpace(text)
		}
		name := text[at[2]:at[3]]
		end := strings.Index(text[at[1]:], "</"+name+">")
		if end < 0 {
			return strings.TrimSpace(text)
		}
		text = text[:at[0]] + text[at[1]+end+len(name)+3:]
	}
}

// say adds a text of the person; with it the results begin again.
func (p *Prompt) say(text string) {
	text = spoken(text)
	if text == "" || strings.HasPrefix(text, "This is the ") { // how some programs begin
		return
	}
	if p.First == "" {
		p.First = text
	}
	p.Last, p.Results = text, nil
}

// returned adds what a tool returned.
func (p *Prompt) returned(text string, failed bool) {
	p.Results = append(p.Results, Result{Text: text, Error: failed})
}

// texts reads a content that is a text or a list of parts with texts.
func texts(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return string(content)
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

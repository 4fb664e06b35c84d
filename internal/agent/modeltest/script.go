package modeltest

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"
)

// Fault is how a step goes wrong instead of being answered.
type Fault string

// The faults.
const (
	RateLimited  Fault = "429"  // refused, with a retry-after of no time
	Overloaded   Fault = "529"  // refused
	Broken       Fault = "500"  // refused
	Unauthorized Fault = "401"  // refused: the key is bad
	Cut          Fault = "cut"  // the connection ends in the middle of the answer
	Hang         Fault = "hang" // no answer until the program or the server gives up
)

// Call is a use of a tool by the model.
type Call struct {
	Tool  string // as the program names it: Write, mcp__server__tool
	Input any    // encoded as JSON; nil is {}
	Space string // the namespace of the tool, where the form has them
	Free  string // instead of Input: the text of a tool that takes any
}

func (c Call) input() any {
	if c.Input == nil {
		return struct{}{}
	}
	return c.Input
}

// arguments is the input as JSON in a string.
func (c Call) arguments() string {
	data, err := json.Marshal(c.input())
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return string(data)
}

// Step is one answer of the model. Without Calls it ends the turn.
type Step struct {
	Text  string
	Calls []Call
	Sleep time.Duration // before the answer
	Fault Fault
	Times int // how often the fault occurs before the step is answered; 0: always
}

// words is the text of a step: an answer is never empty.
func (s Step) words() string {
	if s.Text == "" && len(s.Calls) == 0 {
		return "Done."
	}
	return s.Text
}

// Script is what the model says to the texts it fits. An empty field fits all.
type Script struct {
	Name  string // for Requests
	First string // held by the first text of the person
	Last  string // held by the last one
	Steps []Step
	// Make computes the steps where they depend on the request. It may be called any
	// number of times for one step, and must then answer the same.
	Make func(Prompt) ([]Step, error)
}

// Scripts are tried in order; the first that fits serves.
type Scripts []Script

func (all Scripts) choose(p Prompt) (Script, bool) {
	for _, s := range all {
		if strings.Contains(p.First, s.First) && strings.Contains(p.Last, s.Last) {
			return s, true
		}
	}
	return Script{}, false
}

// steps are the script's own and the computed ones.
func (s Script) steps(p Prompt) ([]Step, error) {
	if s.Make == nil {
		return s.Steps, nil
	}
	made, err := s.Make(p)
	return append(made[:len(made):len(made)], s.Steps...), err
}

// at returns the step to answer after so many tool results, and its number. A step
// without calls ends the turn, and so does the end of the script.
func at(steps []Step, results int) (Step, int) {
	for i, s := range steps {
		if results < len(s.Calls) || len(s.Calls) == 0 {
			return s, i
		}
		results -= len(s.Calls)
	}
	return Step{Text: "There is nothing left to do."}, len(steps)
}

// Prompt is what the person has said in a conversation.
type Prompt struct {
	First string // the first text
	Last  string // the last one; the same in a conversation of one
	Tools []string
	// Results are what tools returned since Last; a step sees those of the steps before it.
	Results []Result
}

// File is the path at the end of the first line of the first text, from its first slash
// on; "" if none.
func (p Prompt) File() string {
	line, _, _ := strings.Cut(p.First, "\n")
	at := strings.IndexByte(line, '/')
	if at < 0 {
		return ""
	}
	return strings.Trim(line[at:], " \"") // some programs put their argument in quotes
}

// Read returns the content of File.
func (p Prompt) Read() (string, error) {
	data, err := os.ReadFile(p.File())
	return string(data), err
}

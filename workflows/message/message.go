// Package message reads the files by which agents write to one another: a name that hints at
// what is inside, YAML between two lines `---`, and a body that is kept byte for byte. It also
// reads the tables that say which agent may send what to whom.
//
// What the frontmatter says counts; a name is a hint, of one of three generations, and says
// that it is ambiguous where it can be read in several ways. The package is pure: it opens no
// file, knows no queue and delivers nothing.
package message

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Types of messages. The frontmatter may also say ask-human, which is an ask to Person.
const (
	Ask          = "ask"
	AskResponse  = "ask-response"
	Task         = "task"
	TaskComplete = "task-complete"
	Update       = "update"
	Prompt       = "prompt"

	askHuman = "ask-human"
)

// types is every type that a name or a frontmatter may hold; the last one is never that of a
// message that was read.
var types = []string{Ask, AskResponse, Task, TaskComplete, Update, Prompt, askHuman}

// Types returns every type that a message may have.
func Types() []string { return types[: len(types)-1 : len(types)-1] }

// Statuses that a message has if it names none.
const (
	StatusStart    = "start"
	StatusComplete = "complete" // of an answer
)

// StatusOf returns the status that a message of a type has if it names none.
func StatusOf(kind string) string {
	if kind == AskResponse || kind == TaskComplete {
		return StatusComplete
	}
	return StatusStart
}

// Priorities. Normal is the default.
const (
	High   = "high"
	Normal = "normal"
	Low    = "low"
)

// Person is the address of the person.
var Person = Address{Mesh: "core", Agent: "core"}

// System is the address of the program, which only sends.
var System = Address{Agent: "system"}

// Address is one side of a message.
type Address struct {
	Mesh  string
	Agent string
}

var wordRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`) })

// ParseAddress reads `mesh/agent`, or `system`.
func ParseAddress(text string) (Address, error) {
	if text == System.Agent {
		return System, nil
	}
	mesh, agent, ok := strings.Cut(text, "/")
	if !ok || !wordRule().MatchString(mesh) || !wordRule().MatchString(agent) {
		return Address{}, fmt.Errorf("expected mesh/agent, found %q", cut(text))
	}
	return Address{Mesh: mesh, Agent: agent}, nil
}

// String is the form that ParseAddress reads; "" for no address.
func (a Address) String() string {
	if a.Mesh == "" {
		return a.Agent
	}
	return a.Mesh + "/" + a.Agent
}

// Message is one message. What its file does not say has its default.
type Message struct {
	To, From  Address
	Type      string
	Status    string
	Requester string    // default: From
	Headline  string    // one line without invisible characters; default: the first heading of the body, else its first line
	At        time.Time // as its writer says; zero = not said
	ID        string    // default: the one in the name of the file
	InReplyTo string
	Priority  string
	Tags      []string
	Deadline  time.Time // zero = none
	Batch     string
	BatchSize int
	Replaces  string // ID of an earlier message of the same sender: supersedes
	Body      []byte // as it is in the file
}

// Answers reports whether the message answers another one.
func (m *Message) Answers() bool { return m.Type == AskResponse || m.Type == TaskComplete }

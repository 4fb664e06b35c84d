package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
)

// Version is the version of the lines that this program writes. It reads no later one.
const Version = 1

// Record is the data of a line. It is a value.
type Record interface {
	// kind is the type of the lines that have this data.
	kind() string
	// known reports whether the record adds nothing.
	known(m *memory) bool
	// fold adds the record, which is not known, to the memory.
	fold(m *memory, at time.Time)
	// check says what is wrong with it.
	check() error
}

// Decided is a decision of the gate about a trigger. A refusal is recorded before it is carried
// out and is owed until there is a Told for it. A request that was accepted is recorded when its
// ticket is on disk: before that, a kill leaves a request that is judged again.
type Decided struct {
	Issue   int            `json:"issue"`
	Trigger gate.Trigger   `json:"trigger"`
	With    []gate.Trigger `json:"with,omitempty"` // labels that were set together with it
	Row     gate.Row       `json:"row"`
	What    gate.What      `json:"what"`
	Reason  string         `json:"reason,omitempty"`
	Remedy  string         `json:"remedy,omitempty"`
	Details []string       `json:"details,omitempty"`
}

// Told ends a refusal: the label is off, and the comment is written unless it was withheld.
type Told struct {
	Issue   int          `json:"issue"`
	Trigger gate.Trigger `json:"trigger"`
	Comment int64        `json:"comment,omitempty"` // 0 for a silent one, or one too many
}

// Started counts a session for the rates. It is recorded when the request got its slot.
type Started struct {
	Issue   int          `json:"issue"`
	Trigger gate.Trigger `json:"trigger"`
	Actor   int64        `json:"actor"`
	Session string       `json:"session"`
}

// State is how far a command came.
type State string

const (
	Judged   State = "judged"   // refused for its reason, or answered: the receipt is owed
	Accepted State = "accepted" // it counts, and what becomes of it is owed
	Done     State = "done"
	Refused  State = "refused"
)

// stages order the states: a command never goes back.
var stages = map[State]int{Judged: 1, Accepted: 2, Done: 3, Refused: 3}

// final reports whether nothing follows.
func (s State) final() bool { return stages[s] == stages[Done] }

// Command is a command in a comment or a review of an issue, by its source id: comment/<id> or
// review/<id>. Its states are records of their own. One without a verb is of somebody who may give
// none.
type Command struct {
	Source   string `json:"source"`
	Issue    int    `json:"issue"`
	Agent    string `json:"agent,omitempty"` // who works for the issue, in a session of an agents file
	Verb     string `json:"verb"`
	Author   string `json:"author"`
	AuthorID int64  `json:"author_id,omitempty"`
	State    State  `json:"state"`
	Reason   string `json:"reason,omitempty"`
	// Session is the directory of the session that got it. Node names a review to GraphQL.
	// Written is when it was, by the server.
	Session string    `json:"session,omitempty"`
	Node    string    `json:"node,omitempty"`
	Written time.Time `json:"written,omitzero"`
}

// Seen holds the texts of an issue as they were when a trigger was first seen.
type Seen struct {
	Issue   int          `json:"issue"`
	Trigger gate.Trigger `json:"trigger"`
	gate.Texts
}

// line is a line of the file.
type line struct {
	V    int             `json:"v"`
	Type string          `json:"type"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

// readers is the table of all records, by the type of their lines.
var readers = map[string]func([]byte) (Record, error){
	Decided{}.kind(): read[Decided],
	Told{}.kind():    read[Told],
	Started{}.kind(): read[Started],
	Command{}.kind(): read[Command],
	Seen{}.kind():    read[Seen],
}

func (Decided) kind() string { return "decided" }
func (Told) kind() string    { return "told" }
func (Started) kind() string { return "started" }
func (Command) kind() string { return "command" }
func (Seen) kind() string    { return "seen" }

func read[R Record](data []byte) (Record, error) {
	var r R
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	return r, r.check()
}

// ErrNewer says that a newer agentmux wrote in the journal.
var ErrNewer = errors.New("it was written by a newer agentmux")

// wire is a line as it is read.
type wire struct {
	V    int             `json:"v"`
	Type string          `json:"type"`
	At   json.RawMessage `json:"at"`
	Data json.RawMessage `json:"data"`
}

// parse reads a line. The record is nil if this version does not know its type.
func parse(text []byte) (line, Record, error) {
	var w wire
	err := json.Unmarshal(text, &w)
	if err != nil {
		// The version counts all the same: a later one may have other types.
		var head struct{ V int }
		if json.Unmarshal(text, &head) != nil {
			return line{}, nil, errors.New("bad JSON")
		}
		w.V = head.V
	}
	switch {
	case w.V > Version:
		return line{}, nil, ErrNewer
	case err != nil:
		return line{}, nil, errors.New("a key has another type")
	case w.V != Version:
		return line{}, nil, fmt.Errorf("bad version %d", w.V)
	case w.Type == "":
		return line{}, nil, errors.New("no type")
	}
	l := line{V: w.V, Type: w.Type, Data: w.Data}
	if json.Unmarshal(w.At, &l.At) != nil {
		l.At = time.Time{} // an invalid time counts as missing
	}
	l.At = l.At.UTC()
	reader, known := readers[l.Type]
	if !known {
		return l, nil, nil
	}
	r, err := reader(l.Data)
	if err != nil {
		return line{}, nil, fmt.Errorf("bad %s: %w", l.Type, err)
	}
	return l, r, nil
}

// maxLine is the longest line that is read or written.
const maxLine = 64 << 10

// encode writes a record as a line.
func encode(r Record, at time.Time) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("record %s: %w", r.kind(), err)
	}
	data, err := json.Marshal(r)
	if err == nil {
		data, err = json.Marshal(line{V: Version, Type: r.kind(), At: at, Data: data})
	}
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", r.kind(), err)
	}
	if len(data) >= maxLine {
		return nil, fmt.Errorf("record %s: %d bytes, at most %d", r.kind(), len(data), maxLine)
	}
	return append(data, '\n'), nil
}

func checkIssue(n int, t gate.Trigger) error {
	if n < 1 {
		return fmt.Errorf("bad issue %d", n)
	}
	if _, err := gate.ParseTrigger(t.String()); err != nil {
		return err
	}
	return nil
}

func (r Decided) check() error { return checkIssue(r.Issue, r.Trigger) }
func (r Told) check() error    { return checkIssue(r.Issue, r.Trigger) }
func (r Seen) check() error    { return checkIssue(r.Issue, r.Trigger) }

func (r Started) check() error {
	if r.Actor < 0 {
		return fmt.Errorf("bad actor %d", r.Actor)
	}
	return checkIssue(r.Issue, r.Trigger)
}

func (r Command) check() error {
	switch {
	case r.Source == "":
		return errors.New("no source")
	case r.Issue < 1:
		return fmt.Errorf("bad issue %d", r.Issue)
	case stages[r.State] == 0:
		return fmt.Errorf("bad state %q", r.State)
	}
	return nil
}

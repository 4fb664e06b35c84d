package monitor

import "time"

// Marks of a phase, a subplan, a research topic or an agent.
const (
	MarkPending = " "
	MarkCurrent = ">"
	MarkDone    = "✓"
	MarkFailed  = "✗"
	MarkSkipped = "-"
	MarkAsks    = "?"
)

// View is one picture of a session: plain values, every text already free of
// control characters. Build makes it.
type View struct {
	Session  string
	Title    string // "#42 Refuse expired tokens"; empty without an issue
	Workflow string
	Branch   string
	Base     string
	PR       string // "#7 https://…, draft"; empty before there is one
	Sandbox  string
	Elapsed  time.Duration
	Headline string // what happens now, in a few words
	Running  bool   // some process hosts the session
	Stays    bool   // the person leaves by detaching

	Phases   []Phase
	Plan     string // "1 of 3 subplans done"; empty before a plan
	Groups   []Group
	Agents   []Agent
	Members  []Member // of an agents file; they are not among the Agents
	Reviews  []Row
	Research []Row
	Recent   []Recent // oldest first

	Gate     string // noun of the open gate; empty when none
	Digest   string // of what the gate shows
	Why      string // the gate is open
	Changes  string // what the gate asks about, in a few words
	Question *Question
	Outcome  *Outcome
	Paused   bool
	Parked   bool
	More     bool // it is done, and changes of its pull request may be asked for
}

// Phase is one phase of the workflow. Spent is the time of all its visits since
// the current plan was made.
type Phase struct {
	ID    string
	Mark  string
	Spent time.Duration
	Note  string
}

// Group is a set of subplans.
type Group struct {
	Name  string
	Plans []Row
}

// Row is a marked line with something at its right end.
type Row struct {
	Mark  string
	Text  string
	Right string
}

// Agent is an agent that works, starts or waits.
type Agent struct {
	Key      string // role or role/task
	Provider string
	State    string
	Doing    string // what it reported last
	Since    time.Duration
	Alarm    bool // stalled or lost
}

// stateAtWork is the State of an agent of which there is nothing else to say.
const stateAtWork = "at work"

// Recent is one record worth a line.
type Recent struct {
	At   time.Time // in the location of Build's now
	Text string
}

// Question is the oldest open question.
type Question struct {
	ID, From, Text string
	Options        []string
	More           int // open questions behind it
}

// Outcome is how the session ended, or why it waits for a person.
type Outcome struct {
	Word   string
	Reason string
	Next   string // what to type
	Good   bool
}

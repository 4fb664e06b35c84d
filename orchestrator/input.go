package orchestrator

import (
	"encoding/json"
	"time"

	"github.com/agentmux/agentmux/internal/lenient"
	"github.com/agentmux/agentmux/internal/usage"
	"github.com/agentmux/agentmux/workflows/artifact"
	"github.com/agentmux/agentmux/workflows/message"
)

// Kinds of inputs.
const (
	InStart        = "start"         // a host took the session
	InOwed         = "owed"          // second half of a resume: unread lines were applied
	InCommand      = "command"       // a line of commands.jsonl, or a signal
	InTool         = "tool"          // a line of tool_events.jsonl
	InMessage      = "message"       // a line of the index of messages
	InObserve      = "observe"       // level: a file a phase waits for is there
	InAgent        = "agent"         // level: the condition of a launch
	InTimer        = "timer"         // level: a deadline passed
	InEffectDone   = "effect_done"   // an effect is true
	InEffectFailed = "effect_failed" // one try failed
	InOverwritten  = "overwritten"   // somebody else wrote state.json, or a file of the store
	InLocked       = "locked"        // level: the issue takes no comments, people cannot answer there
	InClaimLost    = "claim_lost"    // another host holds the claim of the issue
	InJump         = "jump"          // the clock was set, or the machine slept
)

// Input is one thing that happened, with all its evidence.
type Input struct {
	Kind    string       `json:"kind"`
	At      time.Time    `json:"at"`
	Start   *Start       `json:"start,omitempty"`
	Line    *Line        `json:"line,omitempty"`
	Observe *Observation `json:"observe,omitempty"`
	Agent   *AgentReport `json:"agent,omitempty"`
	Timer   string       `json:"timer,omitempty"` // name of the deadline
	Effect  *Outcome     `json:"effect,omitempty"`
	Path    string       `json:"path,omitempty"` // of what was overwritten; "" = state.json
	Host    string       `json:"host,omitempty"` // id of the host that holds the claim now
	Jump    Duration     `json:"jump,omitempty"` // by how much the time of day moved more than the time that passed

	Settings *Settings `json:"settings,omitempty"` // of the configuration now: for a command that continues the session
}

// Ways a host takes a session.
const (
	StartNew    = "new"    // also a host that was restarted: live panes are adopted, nothing is relaunched
	StartResume = "resume" // a person or the bot asked to go on
	StartMoved  = "moved"  // a resume of what a checkpoint of another machine brought
)

// Start tells how the session was taken.
type Start struct {
	Mode     string      `json:"mode"`
	Changes  string      `json:"changes,omitempty"`  // resume with a change request
	Settings *Settings   `json:"settings,omitempty"` // of the configuration now: taken by a resume
	Live     []Launch    `json:"live,omitempty"`     // launches whose pane is alive
	Attended bool        `json:"attended,omitempty"` // resume: by a person at a terminal, whatever the session began as
	Lost     []string    `json:"lost,omitempty"`     // resume: workspaces whose directories are gone
	Base     string      `json:"base,omitempty"`     // resume: the branch that pull requests go to from now on
	Classic  *ClassicDir `json:"classic,omitempty"`  // of a session of the earlier tool
	Moved    *Move       `json:"moved,omitempty"`

	Exited []AgentReport `json:"exited,omitempty"` // launches that ended while the session had no host
}

// Move tells where a session comes from and where it is now.
type Move struct {
	Host       string           `json:"host"`       // that it comes from
	Checkpoint string           `json:"checkpoint"` // the commit
	Age        Duration         `json:"age"`
	LeftOut    []string         `json:"left_out,omitempty"`
	Settings   Settings         `json:"settings"`        // of the configuration here: those that came along have no authority
	Asked      bool             `json:"asked,omitempty"` // by a person: that ends a pause
	Dir        string           `json:"dir"`             // of the session
	Work       map[string]Moved `json:"work"`            // the workspaces that were made again, by name
}

// Moved is where a workspace is now, and what is in it.
type Moved struct {
	Path string `json:"path"`
	Tree string `json:"tree"`
}

// Line is one line of tool_events.jsonl or commands.jsonl as the reader found it.
type Line struct {
	File     string          `json:"file"` // base name
	Cursor   Cursor          `json:"cursor"`
	Tool     string          `json:"tool,omitempty"`
	ID       string          `json:"id,omitempty"`   // sha:<hash>, with :<n> behind n equal lines, for a line without one
	Same     string          `json:"same,omitempty"` // sha:<hash> of a line without an id
	Role     string          `json:"role,omitempty"`
	Task     string          `json:"task,omitempty"`
	Launch   Launch          `json:"launch,omitempty"`
	Session  string          `json:"session,omitempty"`
	Visit    *int            `json:"visit,omitempty"` // nil in a classic line
	At       Time            `json:"at"`              // its timestamp, in seconds; unset where it has none
	Payload  json.RawMessage `json:"payload,omitempty"`
	Corrupt  string          `json:"corrupt,omitempty"` // why it is not a line
	Excerpt  string          `json:"excerpt,omitempty"` // its text: it is cut when no secret is left in it
	Rewound  *Rewind         `json:"rewound,omitempty"` // the file was replaced or cut
	Artifact *Artifact       `json:"artifact,omitempty"`
	Snapshot *Snapshot       `json:"snapshot,omitempty"` // of the work it hands in; nil if it hands in none
	// Artifacts belong to the calls that Attribute finds, where these are several.
	Artifacts []*Artifact     `json:"artifacts,omitempty"`
	Signal    string          `json:"signal,omitempty"` // the host was told to end; no line at all
	Letter    *message.Letter `json:"letter,omitempty"` // the file that a line of the index names
	Taken     bool            `json:"taken,omitempty"`  // the file is that of a message that has left the state
	Signed    []byte          `json:"-"`                // what MAC is of
	MAC       []byte          `json:"-"`                // nil in a line made by hand
	Forged    bool            `json:"forged,omitempty"` // it names a launch that has not written it
	Last      bool            `json:"last,omitempty"`   // its host hands the session over, or saves it for others: it counts in a pause, too
}

// Taking says whose work is to be taken.
type Taking struct {
	Role, Task string
	Launch     Launch   // empty: nobody is at work there
	Workspace  string   // name
	Dir        string   // its path
	Base       string   // commit it was made at
	Owned      []string // paths that are the task's own; none = all
	End        bool     // the launch is ended first: nobody waits for an answer
}

// Snapshot is submitted work as it stood in its workspace when the session read the submission.
type Snapshot struct {
	Tree     string      `json:"tree,omitempty"`
	Files    int         `json:"files,omitempty"`    // that differ from the base
	Scope    []ScopePath `json:"scope,omitempty"`    // changed, and not the task's own
	Findings []string    `json:"findings,omitempty"` // of the output gate, that block
	Held     []string    `json:"held,omitempty"`     // paths that need a person's approval
	Left     []string    `json:"left,omitempty"`     // paths that cannot be taken: they stay as in the base
	Problem  string      `json:"problem,omitempty"`  // why there is no tree
}

// Rewind tells that a line file is not the one the cursor was made for.
type Rewind struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Reason string `json:"reason"`
}

// Artifact is a file of an agent, read once: the bytes that were validated are
// the bytes in the blob.
type Artifact struct {
	Path     string           `json:"path"`
	SHA256   string           `json:"sha256"`
	Problems []string         `json:"problems,omitempty"` // empty when the file is good
	Plan     *artifact.Plan   `json:"plan,omitempty"`
	Review   *artifact.Review `json:"review,omitempty"`
}

// Observation is a predicate of the current phase that holds.
type Observation struct {
	What     string    `json:"what"` // one of the Observe constants
	Name     string    `json:"name,omitempty"`
	Evidence string    `json:"evidence"` // hash; the same evidence is judged once
	Artifact *Artifact `json:"artifact,omitempty"`
	Snapshot *Snapshot `json:"snapshot,omitempty"` // as in Line
	Approval *Approval `json:"approval,omitempty"`
	Problems []string  `json:"problems,omitempty"`
	Content  string    `json:"content,omitempty"` // of a marker of an agents file
	Written  Time      `json:"written"`           // of an answer to a gate: when the file was last written
	Origin   string    `json:"origin,omitempty"`  // of an answer to a gate: the file and its owner
}

// What can be observed.
const (
	ObserveArtifact = "artifact" // the stable artifact of an author phase that accepts files
	ObserveSummary  = "summary"  // a stable summary.md
	ObserveMarker   = "marker"   // done_<Name> made by hand
	ObserveApproval = "approval" // approval.json at the completion gate
	ObserveChanges  = "changes"  // changes.md at a gate
	ObserveReview   = "review"   // a review file of a pending role, at a resume
	ObserveDone     = "done"     // done made by hand in a session of the earlier tool; Name is the agent's key
)

// Approval is the content of approval.json, or of the command that equals it.
type Approval struct {
	ExcludeFiles  []string `json:"exclude_files,omitempty"`
	CommitMessage string   `json:"commit_message,omitempty"`
	By            string   `json:"by,omitempty"`
	Of            string   `json:"of,omitempty"`   // digest of what is approved
	Text          string   `json:"text,omitempty"` // of changes.md
}

// Conditions of a launch.
const (
	AgentLive   = "live"
	AgentDead   = "dead"
	AgentAbsent = "absent"
)

// AgentReport is the condition of a launch at one look.
type AgentReport struct {
	Key         AgentKey     `json:"key"`
	Launch      Launch       `json:"launch"`
	Condition   string       `json:"condition"`
	ExitCode    *int         `json:"exit_code,omitempty"`
	Signal      string       `json:"signal,omitempty"`
	Usage       *usage.Usage `json:"usage,omitempty"` // of a launch that has ended; nil: not known
	Silence     Duration     `json:"silence,omitempty"`
	TurnEnded   string       `json:"turn_ended,omitempty"`  // evidence of the turn end, empty while working
	PersonTurn  int          `json:"person_turn,omitempty"` // the newest turn in which a person took part; 0 = none
	Dialog      string       `json:"dialog,omitempty"`      // on the screen, in words; unknown without Choices
	Choices     []string     `json:"choices,omitempty"`     // of a known dialog
	RateLimited bool         `json:"rate_limited,omitempty"`
	ServerLost  bool         `json:"server_lost,omitempty"` // the tmux server ended, not the agent
	Tail        string       `json:"tail,omitempty"`
	CLISession  string       `json:"cli_session,omitempty"`
	Fault       ServiceFault `json:"fault,omitempty"`     // what ended it, as its last words say
	Until       Time         `json:"until,omitzero"`      // of a limit: when the provider may take more, if that is known
	Answered    bool         `json:"answered,omitempty"`  // the provider has answered it since it began
	Fallbacks   []string     `json:"fallbacks,omitempty"` // of a fault: the providers that could take over now, in order
	Repair      string       `json:"repair,omitempty"`    // of a refused login: what a person does about it
}

// Classes of failed tries.
const (
	FailLocal   = "local"   // again after 1, 2, 4, 8 s
	FailRemote  = "remote"  // again with backoff until limits.remote
	FailAway    = "away"    // as remote, for as long as it takes: limits.remote does not count
	FailNever   = "never"   // not again
	FailCooling = "cooling" // a provider refuses more: again when it may not; neither a try nor a limit counts
)

// Outcome is the end of one try of an effect.
type Outcome struct {
	ID     string   `json:"id"`
	Result Result   `json:"result"`
	Error  string   `json:"error,omitempty"`
	Class  string   `json:"class,omitempty"`
	Wait   Duration `json:"wait,omitempty"` // the other side asked for this pause
	Until  Time     `json:"until,omitzero"` // of FailCooling: when the provider may take more

	Fallbacks []string `json:"fallbacks,omitempty"` // of FailCooling: as in AgentReport
}

// Payload is the union of what tools and commands carry.
type Payload struct {
	SubplanIndex *Index       `json:"subplan_index,omitempty"`
	Role         string       `json:"role,omitempty"`
	Verdict      string       `json:"verdict,omitempty"`
	Reviewers    []string     `json:"reviewers,omitempty"`
	SHA256       string       `json:"sha256,omitempty"`
	Topic        string       `json:"topic,omitempty"`
	Type         string       `json:"type,omitempty"`
	ResearchType string       `json:"research_type,omitempty"`
	Context      string       `json:"context,omitempty"`
	Questions    []string     `json:"questions,omitempty"`
	ScopeHints   lenient.List `json:"scope_hints,omitempty"`
	Message      string       `json:"message,omitempty"`
	Percent      *int         `json:"percent,omitempty"`
	CurrentTask  string       `json:"current_task,omitempty"`
	ID           string       `json:"id,omitempty"`
	Question     string       `json:"question,omitempty"`
	Options      []string     `json:"options,omitempty"`
	File         string       `json:"file,omitempty"`
	Name         string       `json:"name,omitempty"` // command
	Args         CommandArgs  `json:"args,omitzero"`
	Actor        string       `json:"actor,omitempty"`
	Source       string       `json:"source,omitempty"`
	SourceID     string       `json:"source_id,omitempty"`
	Origin       string       `json:"origin,omitempty"` // of a command: the process that wrote it, in words
	PID          int          `json:"pid,omitempty"`
	State        string       `json:"state,omitempty"`  // of a command: see IsCommand
	Reason       string       `json:"reason,omitempty"` // of a note: why
}

// CommandTool is the tool that every line of commands.jsonl names.
const CommandTool = "command"

// States of notes. A line of commands.jsonl with one is not for the session: it says what became of
// a command that never reached it.
const (
	NoteRefused = "refused"
	NoteDone    = "done"
)

// IsCommand reports whether the payload of a command's line is for the session.
func (p Payload) IsCommand() bool { return p.State == "" || p.State == "accepted" }

// CommandArgs are what a command of a person may say beside its name.
type CommandArgs struct {
	Exclude []string `json:"exclude,omitempty"` // approve: paths that stay out of the commit
	ID      string   `json:"id,omitempty"`      // answer: the question
	Message string   `json:"message,omitempty"` // approve: of the commit
	Of      string   `json:"of,omitempty"`      // approve: digest of what was shown
	Role    string   `json:"role,omitempty"`    // say: the agent
	Seen    bool     `json:"seen,omitempty"`    // approve: the comment of the gate was read, and shows Of
	Text    string   `json:"text,omitempty"`    // answer, changes, say
	Written Time     `json:"written,omitzero"`  // answer: when the comment was, by its server
}

// UnmarshalJSON reads what has the right type; the command says what it misses.
func (a *CommandArgs) UnmarshalJSON(data []byte) error {
	type plain CommandArgs
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	lenient.Read(data, (*plain)(a))
	return nil
}

// Index is a subplan's index; 1 and "1" are the same.
type Index = lenient.Index

// Decode reads the payload of a line; fields of a wrong type are an error.
func (l *Line) Decode() (Payload, error) {
	var p Payload
	if len(l.Payload) == 0 {
		return p, nil
	}
	err := json.Unmarshal(l.Payload, &p)
	return p, err
}

// ServiceFault is why the service behind an agent's program stopped it.
type ServiceFault string

// The faults.
const (
	ServiceLogin  ServiceFault = "login"  // it refuses the login
	ServiceLimit  ServiceFault = "limit"  // it refuses more for now
	ServiceOutage ServiceFault = "outage" // it does not work
)

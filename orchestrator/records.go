package orchestrator

// The data of each type of record. The fields of a struct are sorted by their JSON names, as
// earlier versions wrote the keys: a line must not change when it is written again. A field
// with omitempty is in some records only; it is a pointer if its empty value is written, too.

// SessionCreatedRecord begins a session: what it was made of.
type SessionCreatedRecord struct {
	BaseBranch   string   `json:"base_branch"`
	BaseSHA      string   `json:"base_sha"`
	Branch       string   `json:"branch"`
	ConfigSource string   `json:"config_source"`
	Identity     string   `json:"identity"`
	Interactive  bool     `json:"interactive"`
	Issue        int      `json:"issue"`
	Kind         string   `json:"kind"`
	Name         string   `json:"name"`
	Repo         Optional `json:"repo"`
	SessionID    string   `json:"session_id"`
	Title        string   `json:"title"`
	Trigger      Optional `json:"trigger"`
	Workflow     string   `json:"workflow"`
}

// ResumedRecord tells that a person or the bot asked to go on.
type ResumedRecord struct {
	Count    int    `json:"count"`
	From     string `json:"from"`
	Inferred bool   `json:"inferred"`
	To       string `json:"to"`
}

// MovedRecord tells that the session continues from a checkpoint of another machine. Age is in seconds.
type MovedRecord struct {
	Age        int      `json:"age"`
	Checkpoint string   `json:"checkpoint"`
	FromHost   string   `json:"from_host"`
	LeftOut    []string `json:"left_out,omitempty"`
	Paused     bool     `json:"paused,omitempty"` // it was, and it stays so
}

// EventRecord notes a value of last_event. Text and Actor are those of a request for changes.
type EventRecord struct {
	Actor *string `json:"actor,omitempty"`
	Event string  `json:"event"`
	Label string  `json:"label"`
	Text  string  `json:"text,omitempty"`
}

// PhaseEnteredRecord begins a visit of a phase.
type PhaseEnteredRecord struct {
	Kind   string `json:"kind"`
	Phase  string `json:"phase"`
	Reason string `json:"reason"`
}

// PhaseLeftRecord ends a visit of a phase.
type PhaseLeftRecord struct {
	Next    string `json:"next"`
	Phase   string `json:"phase"`
	Seconds int    `json:"seconds"`
}

// SubmissionRecord tells that the session took what an agent handed in. Tree is the work as it
// stood in its workspace then; Launch leaves, if there was one.
type SubmissionRecord struct {
	Launch   Launch   `json:"launch"`
	Line     string   `json:"line"` // its id; empty for a file made by hand
	Role     string   `json:"role"`
	Task     string   `json:"task"`
	Tool     string   `json:"tool"`
	Tree     string   `json:"tree"`
	Warnings []string `json:"warnings,omitempty"`
}

// LateChangesRecord tells what a launch wrote after its submission, and where that is kept.
type LateChangesRecord struct {
	Launch Launch   `json:"launch"`
	Paths  []string `json:"paths"`
	Ref    string   `json:"ref"`
	Role   string   `json:"role"`
	Task   string   `json:"task"`
}

// ArtifactAcceptedRecord tells that a file of an agent was taken.
type ArtifactAcceptedRecord struct {
	Artifact string `json:"artifact"`
	Path     string `json:"path"`
	Role     string `json:"role"`
	SHA256   string `json:"sha256"`
}

// ScheduleRecord tells of an accepted plan.
type ScheduleRecord struct {
	Groups      []Group `json:"groups"`
	NeedsDesign bool    `json:"needs_design"`
	Subplans    int     `json:"subplans"`
}

// ResearchDispatchedRecord begins a topic.
type ResearchDispatchedRecord struct {
	Owner        string `json:"owner"`
	ResearchType string `json:"research_type"`
	Topic        string `json:"topic"`
}

// ResearchDoneRecord ends a topic with a summary.
type ResearchDoneRecord struct {
	Path         string `json:"path"`
	ResearchType string `json:"research_type"`
	Topic        string `json:"topic"`
}

// ResearchFailedRecord ends a topic without a summary.
type ResearchFailedRecord struct {
	Cause        string `json:"cause"`
	ResearchType string `json:"research_type"`
	Topic        string `json:"topic"`
}

// GroupRecord is what both records of a group say; Index is 1-based.
type GroupRecord struct {
	GroupID string   `json:"group_id"`
	Index   int      `json:"index"`
	Mode    string   `json:"mode"`
	Plans   []string `json:"plans"`
	Total   int      `json:"total"`
}

// GroupStartedRecord begins a group of subplans.
type GroupStartedRecord GroupRecord

// GroupDoneRecord ends a group of subplans.
type GroupDoneRecord GroupRecord

// SubplanStartedRecord begins a subplan.
type SubplanStartedRecord struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// SubplanDoneRecord tells that the work of a subplan is integrated.
type SubplanDoneRecord struct {
	Commit string `json:"commit"`
	Files  int    `json:"files"`
	ID     string `json:"id"`
}

// MergeConflictRecord tells of work that does not merge. ID and Task are empty for commits of people.
type MergeConflictRecord struct {
	ID    string   `json:"id"`
	Paths []string `json:"paths"`
	Task  string   `json:"task"`
}

// ScopeViolationRecord lists what a subplan, or an agent of an agents file, changed and does not own.
type ScopeViolationRecord struct {
	Agent  bool        `json:"agent,omitempty"` // ID names an agent
	ID     string      `json:"id"`
	Paths  []ScopePath `json:"paths"`
	Policy string      `json:"policy"`
}

// WorkspaceLostRecord tells that the files of a workspace are gone; Again are subplans to be done once more.
type WorkspaceLostRecord struct {
	Again     []string   `json:"again"`
	Agents    []AgentKey `json:"agents"`
	Base      string     `json:"base"`
	From      string     `json:"from"`
	Workspace string     `json:"workspace"`
}

// ReviewStartedRecord begins a review of a tree.
type ReviewStartedRecord struct {
	Iteration int      `json:"iteration"`
	Roles     []string `json:"roles"`
	Tree      string   `json:"tree"`
}

// VerdictRecord is a reviewer's verdict on a tree; Findings is their number.
type VerdictRecord struct {
	Findings  int    `json:"findings"`
	Iteration int    `json:"iteration"`
	Path      string `json:"path"`
	Role      string `json:"role"`
	Tree      string `json:"tree"`
	Verdict   string `json:"verdict"`
}

// RoundRecord is what the records of a fix round and of the last one say.
type RoundRecord struct {
	Cap       int `json:"cap"`
	Iteration int `json:"iteration"`
}

// FixRoundRecord begins a fix round.
type FixRoundRecord RoundRecord

// ReviewExhaustedRecord tells that no fix round is left.
type ReviewExhaustedRecord RoundRecord

// GateOpenedRecord asks a person. Tree is written at the completion gate, Findings after a refusal of the output gate.
type GateOpenedRecord struct {
	Digest   string     `json:"digest"`
	Findings []string   `json:"findings,omitempty"`
	Gate     string     `json:"gate"`
	Held     []string   `json:"held,omitempty"` // paths that take a person's approval
	Reason   GateReason `json:"reason"`
	Tree     *string    `json:"tree,omitempty"`
}

// GateClosedRecord tells who decided at a gate, and from where.
type GateClosedRecord struct {
	Action string `json:"action"`
	Actor  string `json:"actor"`
	Digest string `json:"digest"`
	Gate   string `json:"gate"`
	Origin string `json:"origin"`
	PID    int    `json:"pid"`
	Source string `json:"source"`
}

// CommandRecord is what both records of a command say.
type CommandRecord struct {
	Actor    string `json:"actor"`
	Agent    string `json:"agent,omitempty"` // of an agents file, if the command is for one
	Name     string `json:"name"`
	Reason   string `json:"reason"`
	Source   string `json:"source"`
	SourceID string `json:"source_id"`
}

// CommandAppliedRecord tells that a command was carried out.
type CommandAppliedRecord CommandRecord

// CommandRefusedRecord tells why a command was not carried out.
type CommandRefusedRecord CommandRecord

// PauseRecord is what both records of a pause say.
type PauseRecord struct {
	Actor  string `json:"actor"`
	Source string `json:"source"`
}

// PausedRecord begins a pause.
type PausedRecord PauseRecord

// UnpausedRecord ends a pause.
type UnpausedRecord PauseRecord

// MessageRecord is what each record of a message says. Mode is how it was delivered.
type MessageRecord struct {
	File     string `json:"file"`
	From     string `json:"from"`
	Mode     string `json:"mode"`
	MsgType  string `json:"msg_type"`
	Priority string `json:"priority"`
	Reason   string `json:"reason"`
	Seq      int    `json:"seq"`
	To       string `json:"to"`
}

type (
	// MsgQueuedRecord tells of a message to be delivered.
	MsgQueuedRecord MessageRecord
	// MsgDeliveredRecord tells that an agent was given a message.
	MsgDeliveredRecord MessageRecord
	// MsgAckedRecord tells that an agent read a message.
	MsgAckedRecord MessageRecord
	// MsgExpiredRecord tells that a message came too late, or was superseded.
	MsgExpiredRecord MessageRecord
	// MsgFailedRecord tells that a message was given up.
	MsgFailedRecord MessageRecord
	// MsgOrphanedRecord tells that the session ended before a message arrived.
	MsgOrphanedRecord MessageRecord
)

// CommitCreatedRecord tells of the commit of a round.
type CommitCreatedRecord struct {
	Agent   string `json:"agent,omitempty"` // of an agents file
	Branch  string `json:"branch"`
	Files   int    `json:"files"`
	SHA     string `json:"sha"`
	Subject string `json:"subject"`
}

// BranchPushedRecord tells that a branch was pushed, or why not.
type BranchPushedRecord struct {
	Agent    string   `json:"agent,omitempty"` // of an agents file
	Branch   string   `json:"branch"`
	SHA      string   `json:"sha"`
	Skipped  string   `json:"skipped"`
	Withheld Withheld `json:"withheld,omitempty"`
}

// PROpenedRecord tells of the pull request; Adopted: it was there.
type PROpenedRecord struct {
	Adopted bool   `json:"adopted"`
	Agent   string `json:"agent,omitempty"` // of an agents file
	Draft   bool   `json:"draft"`
	Number  int    `json:"number"`
	URL     string `json:"url"`
}

// NothingToCommitRecord tells that the work changed nothing.
type NothingToCommitRecord struct{}

// LimitReachedRecord tells that a limit passed.
type LimitReachedRecord struct {
	Limit   string `json:"limit"`
	Seconds int    `json:"seconds"`
}

// CheckpointSavedRecord tells where the session was saved.
type CheckpointSavedRecord struct {
	LeftOut []string `json:"left_out,omitempty"`
	Pushed  bool     `json:"pushed,omitempty"`
	Ref     string   `json:"ref"`
	SHA     string   `json:"sha"`
	Stays   string   `json:"stays,omitempty"` // why it must not leave the machine
}

// EffectFailedRecord tells of a failed try.
type EffectFailedRecord struct {
	Attempt int    `json:"attempt"`
	Effect  string `json:"effect"`
	Error   string `json:"error"`
	Final   bool   `json:"final"`
	ID      string `json:"id"`
}

// InputCorruptRecord tells of a line that cannot be read. Count is how many in a row, from 2.
type InputCorruptRecord struct {
	Count   int    `json:"count,omitempty"`
	Excerpt string `json:"excerpt"`
	File    string `json:"file"`
	Offset  int64  `json:"offset"`
	Reason  string `json:"reason"`
}

// InputUnknownRecord tells of a line for an unknown tool.
type InputUnknownRecord struct {
	Count int    `json:"count,omitempty"`
	Tool  string `json:"tool"`
}

// InputIgnoredRecord tells why a call has no effect.
type InputIgnoredRecord struct {
	Count  int    `json:"count,omitempty"`
	Line   string `json:"line,omitempty"` // id of a submission, for the tool that waits for its answer
	Reason string `json:"reason"`
	Role   string `json:"role"`
	Task   string `json:"task"`
	Tool   string `json:"tool"`
}

// InputRejectedRecord lists what is wrong with a file, or with submitted work.
type InputRejectedRecord struct {
	Errors []string `json:"errors"`
	Line   string   `json:"line,omitempty"` // its id
	Role   string   `json:"role"`
	Tool   string   `json:"tool"`
}

// InputRewoundRecord tells that a file is not the one that was read before.
type InputRewoundRecord struct {
	File   string `json:"file"`
	From   int64  `json:"from"`
	Reason string `json:"reason"`
	To     int64  `json:"to"`
}

// StateOverwrittenRecord names a file that something else wrote.
type StateOverwrittenRecord struct {
	Path string `json:"path"`
}

// NeedsHumanRecord parks the session.
type NeedsHumanRecord struct {
	Next   string `json:"next"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// DoneRecord ends the session.
type DoneRecord struct {
	Commit  string `json:"commit"`
	Outcome string `json:"outcome"`
	PRURL   string `json:"pr_url"`
	Seconds int    `json:"seconds"`
}

// FailedRecord ends the session as failed.
type FailedRecord struct {
	Cause string `json:"cause"`
	Next  string `json:"next"`
}

// ClaimLostRecord says which host holds the claim of the issue now.
type ClaimLostRecord struct {
	Host string `json:"host"`
}

// CanceledRecord ends the session as canceled.
type CanceledRecord struct {
	Actor string `json:"actor"` // a login or user name, or one of the constants
	Cause string `json:"cause"`
	Next  string `json:"next"`
}

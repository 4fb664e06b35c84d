package orchestrator

import (
	"cmp"
	"strings"

	"github.com/agentmux/agentmux/workflows/agents"
)

// State is everything a session has decided, as state.json holds it. The
// goroutine that runs the session's engine owns it; everyone else reads the
// file. Field order is the order of the file: the keys of the earlier tool
// first, ours after them, keys we do not know last and unchanged.
type State struct {
	Phase             string   `json:"phase"` // a phase id of the definition, PhaseDone or PhaseFailed
	LastEvent         string   `json:"last_event"`
	ProductManager    bool     `json:"product_manager"`
	SubplanCount      int      `json:"subplan_count"`
	CompletedSubplans []string `json:"completed_subplans"`
	ReviewIteration   int      `json:"review_iteration"` // fix rounds begun

	GroupTotal      int      `json:"implementation_group_total"`
	GroupIndex      int      `json:"implementation_group_index"` // 1-based; 0 before the first group
	GroupMode       Optional `json:"implementation_group_mode"`  // null before the first and after the last group
	ActivePlanIDs   []string `json:"implementation_active_plan_ids"`
	CompletedGroups []string `json:"implementation_completed_group_ids"`

	UpdatedAt   string `json:"updated_at"` // classic form, see Classic
	UpdatedBy   string `json:"updated_by"`
	FeatureDir  string `json:"feature_dir"`  // absolute session directory
	SessionName string `json:"session_name"` // tmux session

	GHAvailable      *bool             `json:"gh_available,omitempty"`
	IssueNumber      int               `json:"issue_number,omitempty"`
	ResearchTasks    map[string]string `json:"research_tasks,omitempty"`
	WebResearchTasks map[string]string `json:"web_research_tasks,omitempty"`
	AwaitingSummary  bool              `json:"awaiting_summary,omitempty"`

	SchemaVersion    int      `json:"schema_version"`
	Kind             string   `json:"kind"`
	Workflow         string   `json:"workflow"`
	DefinitionSHA256 string   `json:"definition_sha256"`
	SessionID        string   `json:"session_id"`
	Identity         string   `json:"identity,omitempty"` // of its creation: two sessions of one name have two
	Noted            string   `json:"noted,omitempty"`    // what the machine's note of the session knows it by
	CreatedAt        Time     `json:"created_at"`
	Repo             Optional `json:"repo"`
	IssueTitle       Optional `json:"issue_title"`
	BaseBranch       string   `json:"base_branch"`
	BaseSHA          string   `json:"base_sha"`
	FeatureBranch    string   `json:"feature_branch"`
	ConfigSource     string   `json:"config_source"`
	Trigger          Optional `json:"trigger"`

	Interactive bool     `json:"interactive"`
	Paused      bool     `json:"paused"`
	Held        Held     `json:"held,omitzero"`
	Mirror      bool     `json:"mirror,omitempty"` // the session is shown on its issue
	Quiet       bool     `json:"quiet,omitempty"`  // a person wants nothing of it on its issue: no comments are read either
	Settings    Settings `json:"settings"`

	Seq            int             `json:"seq"`
	Visit          int             `json:"visit"`
	EffectSeq      int             `json:"effect_seq"`
	PhaseEnteredAt Time            `json:"phase_entered_at"`
	Deadlines      map[string]Time `json:"deadlines"`
	StillSince     Time            `json:"still_since"`     // since when the limits do not count; unset while they do
	Stays          string          `json:"stays,omitempty"` // why the last checkpoint must not leave the machine

	ToolCursor    Cursor             `json:"tool_cursor"`
	CommandCursor Cursor             `json:"command_cursor"`
	RecentIDs     []string           `json:"recent_ids"`
	Pending       []Effect           `json:"pending_effects"`
	Counters      map[string]Counter `json:"counters"`
	Seen          map[string]string  `json:"seen"`
	Messages      []Message          `json:"messages"`
	MessageSeq    int                `json:"message_seq,omitempty"` // of the last one
	MessageCursor Cursor             `json:"message_cursor,omitzero"`
	Integrated    Integrated         `json:"integrated"`

	InterruptedPhase Optional `json:"interrupted_phase"`
	InterruptedEvent Optional `json:"interrupted_event"`
	Category         Optional `json:"interruption_category"`
	Cause            Optional `json:"interruption_cause"`
	ResumeCommand    Optional `json:"interruption_resume_command"`
	LogPath          Optional `json:"interruption_log_path"`

	Outcome       Optional `json:"outcome"`
	OutcomeReason Optional `json:"outcome_reason"`
	ResumeCount   int      `json:"resume_count"`
	ChangeRound   int      `json:"change_round"`
	Gate          *Gate    `json:"gate"`

	PlanSHA256    string            `json:"plan_sha256"`
	Schedule      *Schedule         `json:"schedule"`
	SubplanStatus map[string]string `json:"subplan_status"`
	// Conflicts holds the paths a subplan must still bring in by hand.
	Conflicts map[string][]string `json:"conflicts,omitempty"`

	Nominations     []string                `json:"reviewer_nominations"`
	ActiveReviews   map[string]string       `json:"active_reviews"`
	ReviewResults   map[string]ReviewResult `json:"review_results"`
	ReviewExhausted bool                    `json:"review_exhausted"`

	ChangeRequest Optional             `json:"change_request"`
	Questions     []Question           `json:"questions"`
	Agents        map[AgentKey]Agent   `json:"agents"`
	Leaving       map[Launch]Leaving   `json:"leaving,omitempty"`
	Workspaces    map[string]Workspace `json:"workspaces"`
	Completion    Completion           `json:"completion"`

	Team map[string]agents.Progress `json:"team,omitempty"` // by the name of an agent of an agents file

	// Unknown holds keys of the file that this version does not know.
	Unknown map[string]rawJSON `json:"-"`
	// Warnings tell what of the file was read as something else.
	Warnings []string `json:"-"`
}

// Terminal phases. Entering one is not a visit.
const (
	PhaseDone   = "done"
	PhaseFailed = "failed"
)

// Kinds of a session.
const (
	KindPipeline = "pipeline"
	KindAgents   = "agents"
)

// Outcomes.
const (
	OutcomeDone       = "done"
	OutcomeFailed     = "failed"
	OutcomeCanceled   = "canceled"
	OutcomeNeedsHuman = "needs_human"
)

// Reasons of OutcomeNeedsHuman.
const (
	ReasonReviewExhausted = "review_exhausted"
	ReasonReviewTimeout   = "review_timeout"
	ReasonNothingToCommit = "nothing_to_commit"
	ReasonMergeUnresolved = "merge_unresolved"
	ReasonScope           = "scope"
	ReasonAgentDialog     = "agent_dialog"
	ReasonAgentStalled    = "agent_stalled"
	ReasonQuestion        = "question"
	ReasonGateTimeout     = "gate_timeout"
	ReasonOutputGate      = "output_gate"
	ReasonPushRejected    = "push_rejected"
	ReasonCommitRefused   = "commit_refused"
	ReasonPRRefused       = "pr_refused"
	ReasonLogin           = "login"
)

// ReasonClaimLost is the reason of an OutcomeCanceled: another host holds the claim of the issue.
const ReasonClaimLost = "claim_lost"

// Refresh takes the settings of a configuration, nil for none. The routes stay: the agents were told of these.
func (s *State) Refresh(set *Settings) {
	if set != nil {
		routes := s.Settings.Msg.Rows
		s.Settings = *set
		s.Settings.Msg.Rows = routes
	}
}

// Shown reports whether this machine shows the session on its issue. Once another host holds
// the claim, that one does.
func (s *State) Shown() bool { return s.Mirror && s.OutcomeReason != ReasonClaimLost }

// Statuses of a subplan.
const (
	SubplanPending   = "pending"
	SubplanRunning   = "running"
	SubplanSubmitted = "submitted"
	SubplanConflict  = "conflict"
	SubplanDone      = "done"
)

// Statuses of one reviewer in a round; ReviewKilled is read from classic
// sessions only and means no result.
const (
	ReviewPending   = "pending"
	ReviewCompleted = "completed"
	ReviewTimeout   = "timeout"
	ReviewKilled    = "killed"
)

// Statuses of a research topic.
const (
	ResearchDispatched = "dispatched"
	ResearchDone       = "done"
	ResearchFailed     = "failed"
)

// Names of gates.
const (
	GatePlan       = "plan"
	GateCompletion = "completion"
)

// Cursor tells how far a line file was consumed. LineStart and LineSHA256
// describe the last consumed line, so that a replaced file is noticed.
type Cursor struct {
	Offset     int64  `json:"offset"`
	LineStart  int64  `json:"line_start"`
	LineSHA256 string `json:"line_sha256"`
	Seq        int    `json:"seq"`
}

// Counter is the memory of one "once", "twice" or "at most" rule.
type Counter struct {
	N     int  `json:"n"`
	Since Time `json:"since"`
}

// Integrated is the last integrated commit and its tree.
type Integrated struct {
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
}

// Gate is a decision that waits for a person.
type Gate struct {
	Name     string     `json:"name"`
	OpenedAt Time       `json:"opened_at"`
	Digest   string     `json:"digest,omitempty"`  // of what it shows, see GateDigest
	Brought  int64      `json:"brought,omitempty"` // another machine opened it; commands said here end at this offset or later
	Reason   GateReason `json:"reason,omitempty"`
}

// Schedule is the accepted plan as the reducer uses it.
type Schedule struct {
	Groups      []Group             `json:"groups"`
	NeedsDesign bool                `json:"needs_design"`
	Owned       map[string][]string `json:"owned"`
	Titles      map[string]string   `json:"titles,omitempty"`
	Inferred    bool                `json:"inferred,omitempty"`
}

// Group is a set of subplans that run one after the other ("serial") or side by
// side ("parallel").
type Group struct {
	ID    string   `json:"group_id"`
	Mode  string   `json:"mode"`
	Plans []string `json:"plans"`
}

// Held is the step out of the current phase that waits for the end of a pause.
type Held struct {
	Outcome string `json:"outcome"` // of the phase
	Reason  string `json:"reason"`
}

// ReviewResult is a reviewer's latest verdict. Tree is what the reviewer was
// given: a verdict says nothing about any other tree.
type ReviewResult struct {
	Verdict       string `json:"verdict"`
	Iteration     int    `json:"iteration"`
	Tree          string `json:"tree"`
	SHA256        string `json:"sha256"`
	Archive       string `json:"archive"`
	Findings      int    `json:"findings"`
	CommitMessage string `json:"commit_message,omitempty"`
}

// Kinds of questions.
const (
	KindQuestion = "question" // in words
	KindDialog   = "dialog"   // of an agent's program, at its pane
)

// Question is a question of an agent to a person.
type Question struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind"` // one of the kinds of questions
	Role       string   `json:"role"`
	Task       string   `json:"task"`
	Text       string   `json:"text"`
	Options    []string `json:"options"`
	AskedAt    Time     `json:"asked_at"`
	Answer     Optional `json:"answer"`
	AnsweredBy Optional `json:"answered_by"`
	AnsweredAt Time     `json:"answered_at"`
}

// Open reports whether the question waits for its answer.
func (q Question) Open() bool { return q.AnsweredAt.IsZero() }

// Agent is what the session remembers of one agent key.
type Agent struct {
	Attempt    int      `json:"attempt"` // launches so far in the visit of Launch
	Retries    int      `json:"retries"` // launches made because an earlier one was lost
	Launch     Launch   `json:"launch"`  // current launch, empty when none
	LastExit   Optional `json:"last_exit"`
	LastLaunch Launch   `json:"last_launch,omitempty"` // the newest launch, running or not
	CLISession Optional `json:"cli_session"`
	Waiting    Optional `json:"waiting"`            // question, research or ask while it waits; in the file also rate_limit
	Owner      string   `json:"owner,omitempty"`    // researchers: the role that asked
	Limited    bool     `json:"limited,omitempty"`  // the provider lets it wait; in the file only beside another wait
	Until      Time     `json:"until,omitzero"`     // while Limited: when it is started, if that is known
	Provider   string   `json:"provider,omitempty"` // that took over from the configured one, until the agent ends

	LimitedSince Time   `json:"limited_since,omitzero"` // when it was first Limited since its provider answered
	Home         string `json:"home,omitempty"`         // which of the key's homes it has; empty = the first
	Heard        Time   `json:"heard"`                  // silence before this moment does not count
	ToolName     string `json:"tool_name,omitempty"`    // how the program of LastLaunch shows a tool; see Shown
}

// Shown returns the name by which the agent's program shows it a tool of the session.
func (a Agent) Shown(tool string) string {
	return strings.Replace(cmp.Or(a.ToolName, "{tool}"), "{tool}", tool, 1)
}

// Leaving is a launch that has submitted and may end its turn beside what comes next. Tree is
// what it submitted of its workspace, empty if that is a view.
type Leaving struct {
	Role      string `json:"role"`
	Task      string `json:"task"`
	Workspace string `json:"workspace"`
	Tree      string `json:"tree"`
	Since     Time   `json:"since"`
	Home      string `json:"home,omitempty"` // see Agent
}

// Current is the newest launch, also when it has ended or the session was
// interrupted: until another one replaces it, what it handed in counts.
func (a Agent) Current() Launch {
	if a.Launch != "" {
		return a.Launch
	}
	return a.LastLaunch
}

// Workspace is a directory whose files an agent edits. Base is the commit its
// content is compared with; Snapshot the tree that was submitted of it.
type Workspace struct {
	Path      string   `json:"path"`
	Base      string   `json:"base"`
	Snapshot  Optional `json:"snapshot"`
	Preserved Optional `json:"preserved"`
	Visit     int      `json:"visit"`
	// Used is the visit in which an agent was last let in without its work being
	// integrated since; 0 = the content is the last snapshot.
	Used int `json:"used,omitempty"`
}

// Completion fills as the last steps end.
type Completion struct {
	Commit     string   `json:"commit"`
	Tree       string   `json:"tree,omitempty"`
	Parent     string   `json:"parent,omitempty"`
	Subject    string   `json:"subject,omitempty"`
	AuthorDate Time     `json:"author_date"`
	Approved   bool     `json:"approved,omitempty"`
	Exclude    []string `json:"exclude,omitempty"`
	Message    string   `json:"message,omitempty"`
	Held       []string `json:"held,omitempty"`
	Asked      []string `json:"asked,omitempty"`   // held paths that the open gate shows
	Cleared    []string `json:"cleared,omitempty"` // those that a person has approved
	Open       []string `json:"open,omitempty"`    // those that nobody has, of earlier rounds, too
	Findings   []string `json:"findings,omitempty"`
	Pushed     bool     `json:"pushed"`
	PRNumber   int      `json:"pr_number"`
	PRURL      string   `json:"pr_url"`
	Draft      bool     `json:"draft,omitempty"`
	Summary    string   `json:"summary,omitempty"` // sha256 of the accepted or fallback summary
	Exhausted  bool     `json:"exhausted,omitempty"`
	Next       string   `json:"next,omitempty"`     // the step that is to be taken, one of the Step constants
	Nothing    bool     `json:"nothing,omitempty"`  // there was nothing to commit, and a person was told so
	Rescan     bool     `json:"rescan,omitempty"`   // a person let the output gate look again
	Shown      bool     `json:"shown,omitempty"`    // Findings were shown to the person who approves
	Attended   bool     `json:"attended,omitempty"` // a person at a terminal resumed the completion
	Compare    string   `json:"compare,omitempty"`  // digest of a gate of another machine that was approved: Asked and Findings are held against what is here
}

// Steps of a completion. A resume continues with the one that is not done.
const (
	StepGate   = "gate" // a person is asked once it is known about what
	StepCommit = "commit"
	StepPush   = "push"
	StepPR     = "pr"
	StepEnd    = "end"
)

// Message is one entry of the queue of messages to agents.
type Message struct {
	Seq         int      `json:"seq"`
	File        string   `json:"file"` // relative to the session directory
	SHA256      string   `json:"sha256"`
	To          string   `json:"to"`
	From        string   `json:"from"`
	Type        string   `json:"type"`
	Headline    string   `json:"headline,omitempty"`
	ID          string   `json:"id,omitempty"`          // its msg-id, if the session did not write it
	By          Launch   `json:"by,omitempty"`          // the launch that wrote it; "" = the session
	InReplyTo   string   `json:"in_reply_to,omitempty"` // the question it answers
	Priority    string   `json:"priority"`
	Deadline    Time     `json:"deadline,omitzero"`
	State       string   `json:"state"`
	Attempts    int      `json:"attempts,omitempty"`
	NextAt      Time     `json:"next_at,omitzero"`
	DeliveredAt Time     `json:"delivered_at,omitzero"`
	AckedAt     Time     `json:"acked_at,omitzero"`
	Again       bool     `json:"again,omitempty"`  // delivered once more because it was not acknowledged
	Open        bool     `json:"open,omitempty"`   // an ask that waits for its answer
	Passed      int      `json:"passed,omitempty"` // how often a later one was delivered before it
	Batch       string   `json:"batch,omitempty"`  // it waits for the others of its batch, but not for long
	Reason      Optional `json:"reason,omitempty"`
}

// States of a message.
const (
	MessageQueued    = "queued"
	MessageDelivered = "delivered"
	MessageAcked     = "acked"
	MessageExpired   = "expired"
	MessageFailed    = "failed"
	MessageOrphan    = "orphan"
)

// Ended reports whether the session has an outcome.
func (s *State) Ended() bool { return s.Outcome != "" }

// Unbegun reports whether the session was made and no host has begun it yet.
func (s *State) Unbegun() bool { return s.PhaseEnteredAt.IsZero() && !s.Ended() && !s.IsClassic() }

// Parked reports whether the session waits for a person in a phase.
func (s *State) Parked() bool {
	return s.Outcome == OutcomeNeedsHuman && s.Phase != PhaseDone && s.Phase != PhaseFailed
}

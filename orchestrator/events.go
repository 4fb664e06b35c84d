package orchestrator

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// Values of last_event, a closed set. Nothing decides by them.
const (
	LastFeatureCreated = "feature_created"
	LastResumed        = "resumed"
	LastPMCompleted    = "pm_completed"
	LastArchitecture   = "architecture_written"
	LastPlanWritten    = "plan_written"
	LastDesignWritten  = "design_written"
	LastImplemented    = "implementation_completed"
	LastReviewFailed   = "review_failed"
	LastReviewPassed   = "review_passed"
	LastChanges        = "changes_requested"
	LastRunCanceled    = "run_canceled"
	LastRunFailed      = "run_failed"
)

// events maps each value of last_event to the label people see.
var events = map[string]string{
	LastFeatureCreated: "starting up",
	LastResumed:        "resumed",
	LastPMCompleted:    "pm done",
	LastArchitecture:   "architecture ready",
	LastPlanWritten:    "plan ready",
	LastDesignWritten:  "design ready",
	LastImplemented:    "code done",
	LastReviewFailed:   "fix needed",
	LastReviewPassed:   "review passed",
	LastChanges:        "changes asked",
	LastRunCanceled:    "canceled",
	LastRunFailed:      "run failed",
}

// Label returns what people see for a value of last_event, and whether the
// value is one of the catalog.
func Label(lastEvent string) (string, bool) {
	label, ok := events[lastEvent]
	return label, ok
}

// Event is one record of events.jsonl.
type Event struct {
	Seq   int    `json:"seq"` // from 1, without gaps
	TS    Time   `json:"ts"`
	Type  string `json:"type"`
	Phase string `json:"phase"`
	Visit int    `json:"visit"`
	Data  Record `json:"data"`
}

// eventLine is a line of events.jsonl whose data is read as D.
type eventLine[D any] struct {
	Seq   int    `json:"seq"`
	TS    Time   `json:"ts"`
	Type  string `json:"type"`
	Phase string `json:"phase"`
	Visit int    `json:"visit"`
	Data  D      `json:"data"`
}

func (l eventLine[D]) event(data Record) Event {
	return Event{Seq: l.Seq, TS: l.TS, Type: l.Type, Phase: l.Phase, Visit: l.Visit, Data: data}
}

// ReadEvent reads a line of any version, its data as [ReadRecord] does. It fails for what is
// not a record: a key of its own has another type, or the data is not an object.
func ReadEvent(line []byte) (Event, error) {
	// The line of a known type whose data is as it should be is read in one go.
	if _, rest, found := bytes.Cut(line, []byte(`"type":"`)); found {
		kind, _, _ := bytes.Cut(rest, []byte(`"`))
		if known, ok := recordTypes[string(kind)]; ok {
			if e, err := known.line(line); err == nil && e.Type == string(kind) {
				return e, nil
			}
		}
	}
	var l eventLine[json.RawMessage]
	if err := json.Unmarshal(line, &l); err != nil {
		return Event{}, err
	}
	switch {
	case len(l.Data) == 0, string(l.Data) == "null":
		l.Data = []byte("{}")
	case l.Data[0] != '{':
		return Event{}, errors.New("the data of the record is not an object")
	}
	return l.event(ReadRecord(l.Type, l.Data)), nil
}

// Types of events. Writers use no other; readers ignore those they do not know.
const (
	EvSessionCreated     = "session_created"
	EvResumed            = "resumed"
	EvMoved              = "moved"
	EvEvent              = "event"
	EvPhaseEntered       = "phase_entered"
	EvPhaseLeft          = "phase_left"
	EvAgentStarted       = "agent_started"
	EvAgentExited        = "agent_exited"
	EvAgentFailed        = "agent_failed"
	EvAgentStalled       = "agent_stalled"
	EvAgentBlocked       = "agent_blocked"
	EvAgentMarked        = "agent_marked"
	EvAgentStatus        = "agent_status"
	EvPersonTyped        = "person_typed"
	EvAgentWaiting       = "agent_waiting"
	EvSubmission         = "submission"
	EvLateChanges        = "late_changes"
	EvArtifactAccepted   = "artifact_accepted"
	EvSchedule           = "schedule"
	EvResearchDispatched = "research_dispatched"
	EvResearchDone       = "research_done"
	EvResearchFailed     = "research_failed"
	EvGroupStarted       = "group_started"
	EvGroupDone          = "group_done"
	EvSubplanStarted     = "subplan_started"
	EvSubplanDone        = "subplan_done"
	EvMergeConflict      = "merge_conflict"
	EvScopeViolation     = "scope_violation"
	EvWorkspaceLost      = "workspace_lost" // its files are gone; it is made again
	EvReviewStarted      = "review_started"
	EvVerdict            = "verdict"
	EvFixRound           = "fix_round"
	EvReviewExhausted    = "review_exhausted"
	EvGateOpened         = "gate_opened"
	EvGateClosed         = "gate_closed"
	EvQuestionAsked      = "question_asked"
	EvQuestionAnswered   = "question_answered"
	EvCommandApplied     = "command_applied"
	EvCommandRefused     = "command_refused"
	EvPaused             = "paused"
	EvUnpaused           = "unpaused"
	EvMsgQueued          = "msg_queued"
	EvMsgDelivered       = "msg_delivered"
	EvMsgAcked           = "msg_acked"
	EvMsgExpired         = "msg_expired"
	EvMsgFailed          = "msg_failed"
	EvMsgOrphaned        = "msg_orphaned"
	EvCommitCreated      = "commit_created"
	EvBranchPushed       = "branch_pushed"
	EvPROpened           = "pr_opened"
	EvNothingToCommit    = "nothing_to_commit"
	EvLimitReached       = "limit_reached"
	EvCheckpointSaved    = "checkpoint_saved"
	EvEffectFailed       = "effect_failed"
	EvInputCorrupt       = "input_corrupt"
	EvInputUnknown       = "input_unknown"
	EvInputIgnored       = "input_ignored"
	EvInputRejected      = "input_rejected"
	EvInputRewound       = "input_rewound"
	EvStateOverwritten   = "state_overwritten"
	EvClaimLost          = "claim_lost"
	EvNeedsHuman         = "needs_human"
	EvDone               = "done"
	EvFailed             = "failed"
	EvCanceled           = "canceled"
)

// MaxEventText is where texts in events are cut, in characters.
const MaxEventText = 4000

// TruncateAll returns a list of the cut texts; the given one may belong to the state.
func TruncateAll[T ~string](texts []T, limit int) []T {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = T(Truncate(string(out[i]), limit))
	}
	return out
}

// Truncate returns the first limit characters of text.
func Truncate(text string, limit int) string {
	n := 0
	for i := range text {
		if n == limit {
			return text[:i]
		}
		n++
	}
	return text
}

package orchestrator

import (
	"encoding/json"
	"reflect"

	"github.com/agentmux/agentmux/internal/lenient"
)

// Record is the data of a record: a struct for each type, or an [UnknownRecord]. It is a
// value; a change of it changes a copy.
type Record interface {
	// Type returns the type of the records that have this data.
	Type() string
}

// UnknownRecord is the data of a record of a type that this version does not know.
type UnknownRecord struct {
	Name string
	Raw  json.RawMessage // an object
}

// Type returns the unknown type.
func (r UnknownRecord) Type() string { return r.Name }

// MarshalJSON returns the data as it was read.
func (r UnknownRecord) MarshalJSON() ([]byte, error) { return r.Raw.MarshalJSON() }

// ReadRecord reads the data of a record of a type. It ignores unknown fields, and leaves a
// field empty whose value has another type: a damaged record must not make a session unreadable.
func ReadRecord(kind string, data []byte) Record {
	if known, ok := recordTypes[kind]; ok {
		return known.data(data)
	}
	return UnknownRecord{Name: kind, Raw: data}
}

// recordOf reads records whose data is a T.
type recordOf[T Record] struct{}

func (recordOf[T]) name() string {
	var none T
	return none.Type()
}

// line reads a whole line. It fails if any value in it has another type.
func (recordOf[T]) line(line []byte) (Event, error) {
	var l eventLine[T]
	err := json.Unmarshal(line, &l)
	return l.event(l.Data), err
}

func (recordOf[T]) data(data []byte) Record {
	var record T
	if json.Unmarshal(data, &record) == nil {
		return record
	}
	var part T
	lenient.Read(data, &part)
	return part
}

// TruncateRecord returns a copy of a record with its texts and lists of texts cut.
func TruncateRecord(record Record, limit int) Record {
	v := reflect.New(reflect.TypeOf(record)).Elem()
	v.Set(reflect.ValueOf(record))
	for i := range v.NumField() {
		switch text := v.Field(i).Interface().(type) {
		case string:
			v.Field(i).SetString(Truncate(text, limit))
		case []string:
			v.Field(i).Set(reflect.ValueOf(TruncateAll(text, limit)))
		case Launch:
			v.Field(i).SetString(Truncate(string(text), limit))
		case []AgentKey:
			v.Field(i).Set(reflect.ValueOf(TruncateAll(text, limit)))
		}
	}
	return v.Interface().(Record)
}

// recordType reads the records of one type.
type recordType interface {
	name() string
	line(line []byte) (Event, error)
	data(data []byte) Record
}

// recordTypes is the table of all records, by their type.
var recordTypes = byName(
	recordOf[SessionCreatedRecord]{}, recordOf[ResumedRecord]{}, recordOf[MovedRecord]{}, recordOf[EventRecord]{}, recordOf[PhaseEnteredRecord]{}, recordOf[PhaseLeftRecord]{},
	recordOf[AgentStartedRecord]{}, recordOf[AgentExitedRecord]{}, recordOf[AgentFailedRecord]{}, recordOf[AgentStalledRecord]{},
	recordOf[AgentBlockedRecord]{}, recordOf[AgentMarkedRecord]{}, recordOf[AgentStatusRecord]{}, recordOf[AgentWaitingRecord]{}, recordOf[PersonTypedRecord]{}, recordOf[SubmissionRecord]{}, recordOf[LateChangesRecord]{},
	recordOf[ArtifactAcceptedRecord]{},
	recordOf[ScheduleRecord]{}, recordOf[ResearchDispatchedRecord]{}, recordOf[ResearchDoneRecord]{}, recordOf[ResearchFailedRecord]{},
	recordOf[GroupStartedRecord]{}, recordOf[GroupDoneRecord]{}, recordOf[SubplanStartedRecord]{}, recordOf[SubplanDoneRecord]{},
	recordOf[MergeConflictRecord]{}, recordOf[ScopeViolationRecord]{}, recordOf[WorkspaceLostRecord]{}, recordOf[ReviewStartedRecord]{},
	recordOf[VerdictRecord]{}, recordOf[FixRoundRecord]{}, recordOf[ReviewExhaustedRecord]{}, recordOf[GateOpenedRecord]{}, recordOf[GateClosedRecord]{},
	recordOf[QuestionAskedRecord]{}, recordOf[QuestionAnsweredRecord]{}, recordOf[CommandAppliedRecord]{}, recordOf[CommandRefusedRecord]{},
	recordOf[PausedRecord]{}, recordOf[UnpausedRecord]{}, recordOf[MsgQueuedRecord]{}, recordOf[MsgDeliveredRecord]{}, recordOf[MsgAckedRecord]{},
	recordOf[MsgExpiredRecord]{}, recordOf[MsgFailedRecord]{}, recordOf[MsgOrphanedRecord]{}, recordOf[CommitCreatedRecord]{},
	recordOf[BranchPushedRecord]{}, recordOf[PROpenedRecord]{}, recordOf[NothingToCommitRecord]{}, recordOf[LimitReachedRecord]{},
	recordOf[CheckpointSavedRecord]{}, recordOf[EffectFailedRecord]{}, recordOf[InputCorruptRecord]{}, recordOf[InputUnknownRecord]{},
	recordOf[InputIgnoredRecord]{}, recordOf[InputRejectedRecord]{}, recordOf[InputRewoundRecord]{}, recordOf[StateOverwrittenRecord]{}, recordOf[ClaimLostRecord]{},
	recordOf[NeedsHumanRecord]{}, recordOf[DoneRecord]{}, recordOf[FailedRecord]{}, recordOf[CanceledRecord]{},
)

func byName(types ...recordType) map[string]recordType {
	table := map[string]recordType{}
	for _, t := range types {
		table[t.name()] = t
	}
	return table
}

// Type returns the type of the records that have this data.
func (SessionCreatedRecord) Type() string     { return EvSessionCreated }
func (ResumedRecord) Type() string            { return EvResumed }
func (MovedRecord) Type() string              { return EvMoved }
func (EventRecord) Type() string              { return EvEvent }
func (PhaseEnteredRecord) Type() string       { return EvPhaseEntered }
func (PhaseLeftRecord) Type() string          { return EvPhaseLeft }
func (AgentStartedRecord) Type() string       { return EvAgentStarted }
func (AgentExitedRecord) Type() string        { return EvAgentExited }
func (AgentFailedRecord) Type() string        { return EvAgentFailed }
func (AgentStalledRecord) Type() string       { return EvAgentStalled }
func (AgentBlockedRecord) Type() string       { return EvAgentBlocked }
func (AgentMarkedRecord) Type() string        { return EvAgentMarked }
func (AgentStatusRecord) Type() string        { return EvAgentStatus }
func (AgentWaitingRecord) Type() string       { return EvAgentWaiting }
func (PersonTypedRecord) Type() string        { return EvPersonTyped }
func (SubmissionRecord) Type() string         { return EvSubmission }
func (LateChangesRecord) Type() string        { return EvLateChanges }
func (ArtifactAcceptedRecord) Type() string   { return EvArtifactAccepted }
func (ScheduleRecord) Type() string           { return EvSchedule }
func (ResearchDispatchedRecord) Type() string { return EvResearchDispatched }
func (ResearchDoneRecord) Type() string       { return EvResearchDone }
func (ResearchFailedRecord) Type() string     { return EvResearchFailed }
func (GroupStartedRecord) Type() string       { return EvGroupStarted }
func (GroupDoneRecord) Type() string          { return EvGroupDone }
func (SubplanStartedRecord) Type() string     { return EvSubplanStarted }
func (SubplanDoneRecord) Type() string        { return EvSubplanDone }
func (MergeConflictRecord) Type() string      { return EvMergeConflict }
func (ScopeViolationRecord) Type() string     { return EvScopeViolation }
func (WorkspaceLostRecord) Type() string      { return EvWorkspaceLost }
func (ReviewStartedRecord) Type() string      { return EvReviewStarted }
func (VerdictRecord) Type() string            { return EvVerdict }
func (FixRoundRecord) Type() string           { return EvFixRound }
func (ReviewExhaustedRecord) Type() string    { return EvReviewExhausted }
func (GateOpenedRecord) Type() string         { return EvGateOpened }
func (GateClosedRecord) Type() string         { return EvGateClosed }
func (QuestionAskedRecord) Type() string      { return EvQuestionAsked }
func (QuestionAnsweredRecord) Type() string   { return EvQuestionAnswered }
func (CommandAppliedRecord) Type() string     { return EvCommandApplied }
func (CommandRefusedRecord) Type() string     { return EvCommandRefused }
func (PausedRecord) Type() string             { return EvPaused }
func (UnpausedRecord) Type() string           { return EvUnpaused }
func (MsgQueuedRecord) Type() string          { return EvMsgQueued }
func (MsgDeliveredRecord) Type() string       { return EvMsgDelivered }
func (MsgAckedRecord) Type() string           { return EvMsgAcked }
func (MsgExpiredRecord) Type() string         { return EvMsgExpired }
func (MsgFailedRecord) Type() string          { return EvMsgFailed }
func (MsgOrphanedRecord) Type() string        { return EvMsgOrphaned }
func (CommitCreatedRecord) Type() string      { return EvCommitCreated }
func (BranchPushedRecord) Type() string       { return EvBranchPushed }
func (PROpenedRecord) Type() string           { return EvPROpened }
func (NothingToCommitRecord) Type() string    { return EvNothingToCommit }
func (LimitReachedRecord) Type() string       { return EvLimitReached }
func (CheckpointSavedRecord) Type() string    { return EvCheckpointSaved }
func (EffectFailedRecord) Type() string       { return EvEffectFailed }
func (InputCorruptRecord) Type() string       { return EvInputCorrupt }
func (InputUnknownRecord) Type() string       { return EvInputUnknown }
func (InputIgnoredRecord) Type() string       { return EvInputIgnored }
func (InputRejectedRecord) Type() string      { return EvInputRejected }
func (InputRewoundRecord) Type() string       { return EvInputRewound }
func (StateOverwrittenRecord) Type() string   { return EvStateOverwritten }
func (NeedsHumanRecord) Type() string         { return EvNeedsHuman }
func (DoneRecord) Type() string               { return EvDone }
func (FailedRecord) Type() string             { return EvFailed }
func (ClaimLostRecord) Type() string          { return EvClaimLost }
func (CanceledRecord) Type() string           { return EvCanceled }

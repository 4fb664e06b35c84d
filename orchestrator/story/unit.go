package story

import (
	"fmt"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/agents"
)

// Unit sees the records of a run of an agents file as those of one agent: what others of the run do
// is left out, and the marker of the agent is the end. It takes the records in their order.
type Unit struct {
	Agent  string
	Issue  int    // that the agent works on
	Branch string // as the file names it

	began orchestrator.Time // its first launch
	ended bool              // it has a marker
	cause string
	asked map[string]bool // ids of its questions

	saying bool         // the next message is what a person says to it
	said   map[int]bool // numbers of those messages
}

// See returns a record as it is told of the agent; false if it tells nothing of it.
func (u *Unit) See(e orchestrator.Event) (orchestrator.Event, bool) {
	switch d := e.Data.(type) {
	case orchestrator.SessionCreatedRecord:
		d.Issue, d.Branch, d.Repo = u.Issue, u.Branch, "" // people call the run by its name
		e.Data = d
		return e, true
	case orchestrator.AgentStartedRecord:
		return u.started(e, d)
	case orchestrator.AgentMarkedRecord:
		return u.marked(e, d)
	case orchestrator.AgentBlockedRecord:
		if d.Agent == u.Agent {
			u.cause = "blocked by " + d.Dependency
		}
		return e, false
	case orchestrator.AgentFailedRecord:
		if d.Task == u.Agent {
			u.cause, _ = WhyFailed(d)
		}
		return e, d.Task == u.Agent
	case orchestrator.QuestionAskedRecord:
		if d.Task != u.Agent {
			return e, false
		}
		if u.asked == nil {
			u.asked = map[string]bool{}
		}
		u.asked[d.ID] = true
		return e, true
	case orchestrator.QuestionAnsweredRecord:
		return e, u.asked[d.ID]
	case orchestrator.CommandAppliedRecord:
		u.saying = d.Agent == u.Agent && d.Name == "say"
		return e, d.Agent == u.Agent
	case orchestrator.CommandRefusedRecord:
		return e, d.Agent == u.Agent
	}
	return e, u.concerns(e) || u.mailed(e)
}

// mailed reports whether a record is of what a person said to the agent.
func (u *Unit) mailed(e orchestrator.Event) bool {
	switch d := e.Data.(type) {
	case orchestrator.MsgQueuedRecord:
		if u.saying {
			if u.said == nil {
				u.said = map[int]bool{}
			}
			u.saying, u.said[d.Seq] = false, true
		}
		return u.said[d.Seq]
	case orchestrator.MsgDeliveredRecord:
		return u.said[d.Seq]
	case orchestrator.MsgAckedRecord:
		return u.said[d.Seq]
	case orchestrator.MsgFailedRecord:
		return u.said[d.Seq]
	case orchestrator.MsgOrphanedRecord:
		return u.said[d.Seq]
	}
	return false
}

// concerns reports whether a record is one of the agent, or of the whole run while the agent works.
func (u *Unit) concerns(e orchestrator.Event) bool {
	switch d := e.Data.(type) {
	case orchestrator.AgentExitedRecord:
		return d.Task == u.Agent
	case orchestrator.AgentStalledRecord:
		return d.Task == u.Agent
	case orchestrator.AgentStatusRecord:
		return d.Task == u.Agent
	case orchestrator.AgentWaitingRecord:
		return d.Task == u.Agent
	case orchestrator.PersonTypedRecord:
		return d.Task == u.Agent
	case orchestrator.SubmissionRecord:
		return d.Task == u.Agent
	case orchestrator.CommitCreatedRecord:
		return d.Agent == u.Agent
	case orchestrator.BranchPushedRecord:
		return d.Agent == u.Agent
	case orchestrator.PROpenedRecord:
		return d.Agent == u.Agent
	case orchestrator.PhaseEnteredRecord, orchestrator.PausedRecord, orchestrator.UnpausedRecord, orchestrator.ResumedRecord, orchestrator.MovedRecord,
		orchestrator.NeedsHumanRecord, orchestrator.FailedRecord, orchestrator.CanceledRecord:
		return !u.ended
	}
	return false
}

// started is a launch. The first one after a marker is another try of an agent that had ended.
func (u *Unit) started(e orchestrator.Event, d orchestrator.AgentStartedRecord) (orchestrator.Event, bool) {
	if d.Task != u.Agent {
		return e, false
	}
	if u.began.IsZero() {
		u.began = e.TS
	}
	if u.ended {
		u.ended, u.cause = false, ""
		e.Data = orchestrator.ResumedRecord{From: e.Phase, To: e.Phase}
	}
	return e, true
}

// marked is the end of the agent, as that of a session.
func (u *Unit) marked(e orchestrator.Event, d orchestrator.AgentMarkedRecord) (orchestrator.Event, bool) {
	if d.Agent != u.Agent {
		return e, false
	}
	u.ended = true
	switch m := agents.ParseMarker([]byte(d.Marker)); {
	case m.Status() == agents.Done:
		done := orchestrator.DoneRecord{Outcome: orchestrator.OutcomeDone}
		if !u.began.IsZero() {
			done.Seconds = int(e.TS.Sub(u.began.Time).Seconds())
		}
		e.Data = done
	case u.cause != "":
		e.Data = orchestrator.FailedRecord{Cause: u.cause}
	default:
		e.Data = orchestrator.FailedRecord{Cause: fmt.Sprintf("exit %d", m.Exit)}
	}
	return e, true
}

package story

import (
	"cmp"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// End is how a session ended or parked. The zero value: it did neither, or works again.
type End struct {
	Outcome string
	At      time.Time
	Seconds int    // from its start; of a finished one as its record says
	Text    string // the cause in a sentence; empty if the record has none
	Reason  string // of a park, as a word of the protocol
	Next    string // what the record says about what can be done
	Actor   string // who canceled it

	finished bool // all phases are done, whatever the outcome
}

func (n *End) fold(e orchestrator.Event, started time.Time) {
	switch d := e.Data.(type) {
	case orchestrator.ResumedRecord, orchestrator.MovedRecord, orchestrator.PhaseEnteredRecord:
		*n = End{}
	case orchestrator.NeedsHumanRecord:
		n.set(e, started, End{Outcome: orchestrator.OutcomeNeedsHuman, Text: d.Text, Reason: d.Reason, Next: d.Next})
	case orchestrator.FailedRecord:
		n.set(e, started, End{Outcome: orchestrator.OutcomeFailed, Text: d.Cause, Next: d.Next})
	case orchestrator.CanceledRecord:
		n.set(e, started, End{Outcome: orchestrator.OutcomeCanceled, Text: d.Cause, Next: d.Next, Actor: d.Actor})
	case orchestrator.DoneRecord:
		n.set(e, started, End{Outcome: cmp.Or(d.Outcome, orchestrator.OutcomeDone), finished: true})
		n.Seconds = d.Seconds
	}
}

// set replaces the end by a newer one.
func (n *End) set(e orchestrator.Event, started time.Time, newer End) {
	newer.At, newer.Seconds = e.TS.Time, int(e.TS.Sub(started).Seconds())
	*n = newer
}

// ByPerson reports whether a person canceled the session: not a signal to its host, and not
// another host that took over.
func (n End) ByPerson() bool {
	return n.Outcome == orchestrator.OutcomeCanceled && n.Actor != orchestrator.ActorSignal && n.Actor != orchestrator.ActorClaim
}

// LastReviewFailed reports whether the session went through all its phases although the last
// review failed.
func (n End) LastReviewFailed() bool {
	return n.Outcome == orchestrator.OutcomeNeedsHuman && n.finished
}

// Cause is the cause of the end in words: those of its record, or else those of its reason.
func (n End) Cause() string {
	if n.LastReviewFailed() {
		return reasonSentences[orchestrator.ReasonReviewExhausted]
	}
	return cmp.Or(n.Text, n.Reason)
}

// sentence is the cause as a status tells it; empty if the record has none.
func (n End) sentence() string {
	if n.Outcome == orchestrator.OutcomeCanceled {
		return canceled(orchestrator.CanceledRecord{Actor: n.Actor, Cause: n.Text})
	}
	return n.Text
}

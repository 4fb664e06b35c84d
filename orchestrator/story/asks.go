package story

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Question is what an agent asked people.
type Question struct {
	Seq     int // of its record
	ID      string
	Agent   orchestrator.AgentKey
	Dialog  bool // of its program, at its pane
	Text    string
	Options []string
	Open    bool
}

// ClosedAsk is a question or a gate that no longer waits.
type ClosedAsk struct {
	Seq int // of the record that asked
	At  time.Time

	Gate *Decision // nil for a question

	Question        Question
	Actor           string
	Late, Withdrawn bool
}

// Asks are what a session asked people in its whole life: questions, and approval at gates.
type Asks struct {
	Questions []Question  // oldest first
	Closed    []ClosedAsk // in the order they were closed

	gate int // of the record that opened the gate last
}

// Fold takes in one record.
func (a *Asks) Fold(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.GateOpenedRecord:
		a.gate = e.Seq
	case orchestrator.GateClosedRecord:
		if a.gate > 0 {
			decided := Decided(d, e.TS)
			a.Closed = append(a.Closed, ClosedAsk{Seq: a.gate, Gate: &decided, At: e.TS.Time})
		}
	case orchestrator.QuestionAskedRecord:
		a.Questions = append(a.Questions, Question{
			Seq: e.Seq, ID: d.ID, Agent: orchestrator.KeyOf(d.Role, d.Task), Dialog: d.Kind == orchestrator.KindDialog, Text: d.Text, Options: d.Options, Open: true,
		})
	case orchestrator.QuestionAnsweredRecord:
		a.answered(e, d)
	}
}

func (a *Asks) answered(e orchestrator.Event, d orchestrator.QuestionAnsweredRecord) {
	for i := range a.Questions {
		q := &a.Questions[i]
		if q.ID != d.ID || !q.Open {
			continue
		}
		q.Open = false
		a.Closed = append(a.Closed, ClosedAsk{
			Seq: q.Seq, Question: *q, At: e.TS.Time, Actor: d.Actor, Late: d.Timeout, Withdrawn: d.Source == orchestrator.SourceWithdrawn,
		})
	}
}

// Open returns the questions that have no answer, oldest first.
func (a Asks) Open() []Question {
	var open []Question
	for _, q := range a.Questions {
		if q.Open {
			open = append(open, q)
		}
	}
	return open
}

package story

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Visit is one entry of a phase.
type Visit struct {
	Number   int
	Phase    string
	Kind     string
	Began    time.Time
	Left     bool
	Round    int      // of a review or a fix, from 1
	Role     string   // who works in a phase of one agent
	Provider string   // of that agent
	Subplans Subplans // of an implementation that was left: how far it had come
}

// Visits are those of a session's whole life, oldest first.
type Visits []Visit

// Current returns the visit that began last, nil before the first.
func (v Visits) Current() *Visit {
	if len(v) == 0 {
		return nil
	}
	return &v[len(v)-1]
}

func (v *Visits) fold(e orchestrator.Event, plan Plan, reviews Reviews) {
	current := v.Current()
	switch d := e.Data.(type) {
	case orchestrator.PhaseEnteredRecord:
		v.enter(e, d, reviews)
	case orchestrator.ResumedRecord:
		if current != nil && current.Phase == d.To {
			current.Left = false
		}
	case orchestrator.MovedRecord:
		if current != nil && current.Phase == e.Phase {
			current.Left = false
		}
	case orchestrator.PhaseLeftRecord:
		if current != nil {
			current.Left, current.Subplans = true, plan.Count(*current)
		}
	case orchestrator.AgentStartedRecord:
		current.started(e, d)
	case orchestrator.DoneRecord:
		if current != nil {
			current.Left = true
		}
	}
}

func (v *Visits) enter(e orchestrator.Event, d orchestrator.PhaseEnteredRecord, reviews Reviews) {
	visit := Visit{Number: e.Visit, Phase: d.Phase, Kind: d.Kind, Began: e.TS.Time}
	switch d.Kind {
	case "review":
		visit.Round = reviews.Number(reviews.Fix)
	case "fix":
		visit.Round = reviews.Fix
	}
	if before := v.Current(); before != nil {
		before.Left = true
		if before.Number == e.Visit { // begun again, not entered again
			visit.Began = before.Began
			*v = (*v)[:len(*v)-1]
		}
	}
	*v = append(*v, visit)
}

// started notes who works in a phase of one agent. An agent that was quicker than the record
// of its start belongs to an earlier phase.
func (v *Visit) started(e orchestrator.Event, d orchestrator.AgentStartedRecord) {
	if v == nil || v.Number != e.Visit || v.Kind == "review" || v.Left {
		return
	}
	if launch, known := d.Launch.Parts(); known && launch.Visit != e.Visit {
		return
	}
	v.Role, v.Provider = d.Role, d.Provider
}

package story

import (
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Progress is what the records of a session have told so far. The zero value is the progress
// of a session without records. Readers use its fields; only Fold changes them.
type Progress struct {
	Seq      int // of the newest record
	Identity Identity
	Phase    string // the one the session is in; empty before the first
	Paused   bool
	Stays    string // why the last checkpoint must not leave the machine; empty: it may
	End      End

	Visits  Visits
	Plan    Plan
	Reviews Reviews
	Result  Result
	Gate    Gate

	Decisions []Decision // at gates, oldest first
	Requests  []Request  // for changes, oldest first
	Asks      Asks
	Commands  Commands
	Strays    Strays
	Agents    Agents
	Phases    Phases
	Moved     Move
	Usages    Usages
	Persons   Persons // at panes
}

// Fold takes in one record. A record of an unknown type changes nothing but Seq.
func (p *Progress) Fold(e orchestrator.Event) {
	p.Seq = e.Seq
	p.Identity.fold(e)
	p.End.fold(e, p.Identity.Started)
	p.Plan.fold(e)
	p.Reviews.fold(e)
	p.Visits.fold(e, p.Plan, p.Reviews)
	p.Result.fold(e)
	p.Gate.fold(e)
	p.Asks.Fold(e)
	p.Commands.Fold(e)
	p.Strays.Fold(e)
	p.Agents.Fold(e)
	p.Phases.Fold(e)
	p.Moved.fold(e)
	p.Usages.Fold(e)
	p.Persons.Fold(e)
	p.course(e)
	p.wishes(e)
}

// course folds which phase the session is in, and whether a person paused it.
func (p *Progress) course(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.ResumedRecord:
		p.Phase, p.Paused = d.To, false
	case orchestrator.MovedRecord:
		p.Phase, p.Paused = e.Phase, d.Paused
	case orchestrator.PhaseEnteredRecord:
		p.Phase, p.Paused = d.Phase, false
	case orchestrator.CheckpointSavedRecord:
		p.Stays = d.Stays
	case orchestrator.PausedRecord:
		p.Paused = true
	case orchestrator.UnpausedRecord:
		p.Paused = false
	case orchestrator.DoneRecord:
		p.Phase = orchestrator.PhaseDone
	case orchestrator.FailedRecord, orchestrator.CanceledRecord:
		p.Phase = orchestrator.PhaseFailed
	}
}

// wishes folds what people decided at gates and what they want changed.
func (p *Progress) wishes(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.GateClosedRecord:
		p.Decisions = append(p.Decisions, Decided(d, e.TS))
	case orchestrator.EventRecord:
		if d.Event != orchestrator.LastChanges || d.Text == "" {
			return
		}
		request := Request{At: e.TS.Time, Text: d.Text}
		if d.Actor != nil {
			request.Actor = *d.Actor
		}
		p.Requests = append(p.Requests, request)
	}
}

// Live reports whether the session works, or waits for something that it asked for.
func (p *Progress) Live() bool { return p.End.Outcome == "" }

// Waits reports whether the session waits for a person at a gate or for an answer.
func (p *Progress) Waits() bool { return p.Gate.Name != "" || len(p.Asks.Open()) > 0 }

// Fixes counts the visits of fix phases.
func (p *Progress) Fixes() int {
	n := 0
	for _, visit := range p.Visits {
		if visit.Kind == "fix" {
			n++
		}
	}
	return n
}

// Identity is what a session is and where it belongs, from its first record.
type Identity struct {
	Session  string // its id
	Public   string // its id in what is written on the server, see [orchestrator.PublicID]
	Workflow string
	Repo     string // empty if the session has no repository on a server
	Issue    int    // 0 if it has none
	Config   string // where its configuration is from
	Started  time.Time
}

func (i *Identity) fold(e orchestrator.Event) {
	if d, ok := e.Data.(orchestrator.SessionCreatedRecord); ok {
		*i = Identity{
			Session: d.SessionID, Public: orchestrator.PublicID(d.SessionID, d.Identity), Workflow: d.Workflow,
			Repo: string(d.Repo), Issue: d.Issue, Config: d.ConfigSource, Started: e.TS.Time,
		}
	}
}

// Request is what a person wants changed.
type Request struct {
	At    time.Time
	Actor string // empty if the record has none
	Text  string
}

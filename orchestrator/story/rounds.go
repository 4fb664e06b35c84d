package story

import "github.com/agentmux/agentmux/orchestrator"

// Rounds numbers the review rounds of a session's whole life. The session itself counts them
// from 0 again after each request for changes.
type Rounds struct {
	before int // rounds before the last request for changes
	since  int // and since
}

// Fold takes in one record.
func (r *Rounds) Fold(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.ReviewStartedRecord:
		r.since = max(r.since, d.Iteration+1)
	case orchestrator.EventRecord:
		if d.Event == orchestrator.LastChanges {
			r.before, r.since = r.before+r.since, 0
		}
	}
}

// Of returns the number, from 1, of the round that the session now counts as iteration.
func (r Rounds) Of(iteration int) int { return r.before + iteration + 1 }

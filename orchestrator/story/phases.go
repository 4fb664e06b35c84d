package story

import (
	"maps"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// planKind is the kind of the phase after whose entry the later phases have still
// to be done.
const planKind = "plan"

// Phases are the times of the phases of a session.
type Phases struct {
	spent  map[string]time.Duration // phase, once entered -> time of its ended visits
	replan string                   // plan phase, once entered a second time
	since  map[string]bool          // phases entered since
}

// Fold takes in one record.
func (p *Phases) Fold(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.PhaseEnteredRecord:
		p.enter(d.Phase, d.Kind)
	case orchestrator.PhaseLeftRecord: // also of the first phase, which no record enters
		if spent, entered := p.spent[d.Phase]; entered {
			p.spent[d.Phase] = spent + time.Duration(d.Seconds)*time.Second
		}
	}
}

func (p *Phases) enter(phase, kind string) {
	if p.spent == nil {
		p.spent, p.since = map[string]time.Duration{}, map[string]bool{}
	}
	spent, before := p.spent[phase]
	p.spent[phase] = spent
	p.since[phase] = true
	if kind == planKind && before {
		p.replan, p.since = phase, map[string]bool{}
	}
}

// Spent returns the time of the ended visits of each phase that was entered. ids are the
// phases in the order of their workflow: those behind a plan that was entered again
// count only what came since.
func (p Phases) Spent(ids []string) map[string]time.Duration {
	spent := maps.Clone(p.spent)
	behind := false
	for _, id := range ids {
		if behind && p.replan != "" && !p.since[id] {
			delete(spent, id)
		}
		behind = behind || id == p.replan
	}
	return spent
}

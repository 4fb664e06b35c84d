package story

import "github.com/agentmux/agentmux/orchestrator"

// Plan is the accepted plan, and what of it is done.
type Plan struct {
	SHA256   string // of plan.yaml as accepted last
	Subplans int

	done map[string]bool // subplans integrated in this implementation
}

// Subplans counts those that are done of all. The zero value: there is nothing to count.
type Subplans struct{ Done, Total int }

func (p *Plan) fold(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.ArtifactAcceptedRecord:
		if d.Artifact == "plan.yaml" {
			p.SHA256 = d.SHA256
		}
	case orchestrator.ScheduleRecord:
		p.Subplans, p.done = d.Subplans, nil
	case orchestrator.SubplanDoneRecord:
		if p.done == nil {
			p.done = map[string]bool{}
		}
		p.done[d.ID] = true
	case orchestrator.PhaseEnteredRecord:
		if d.Kind == "implement" {
			p.done = nil
		}
	}
}

// Count returns how far the implementation has come; the zero value for another visit.
func (p Plan) Count(of Visit) Subplans {
	if of.Kind != "implement" || p.Subplans == 0 {
		return Subplans{}
	}
	return Subplans{Done: len(p.done), Total: p.Subplans}
}

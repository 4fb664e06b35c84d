package monitor

import (
	"cmp"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// planKind is the kind of the phase after whose entry the later phases have still
// to be done.
const planKind = "plan"

// folded is what the records tell beyond the state.
type folded struct {
	spent  map[string]time.Duration // phase, once entered -> time of its ended visits
	replan string                   // plan phase, once entered a second time
	since  map[string]bool          // phases entered since
	agents map[string]known
	ended  time.Time
}

// known is what the records tell of an agent's newest launch.
type known struct {
	launch, provider, doing string
	started                 time.Time
	silent                  time.Duration
}

func fold(records []orchestrator.Event) folded {
	f := folded{spent: map[string]time.Duration{}, since: map[string]bool{}, agents: map[string]known{}}
	for _, e := range records {
		switch d := e.Data.(type) {
		case orchestrator.PhaseEnteredRecord:
			f.enter(d.Phase, d.Kind)
		case orchestrator.PhaseLeftRecord: // also of the first phase, which nobody entered
			if spent, entered := f.spent[d.Phase]; entered {
				f.spent[d.Phase] = spent + time.Duration(d.Seconds)*time.Second
			}
		case orchestrator.ResumedRecord:
			f.ended = time.Time{}
		case orchestrator.DoneRecord, orchestrator.NeedsHumanRecord, orchestrator.FailedRecord, orchestrator.CanceledRecord:
			f.ended = e.TS.Time
		case orchestrator.AgentStartedRecord:
			f.agents[orchestrator.AgentKey(d.Role, d.Task)] = known{launch: d.Launch, provider: d.Provider, started: e.TS.Time}
		case orchestrator.AgentStatusRecord:
			f.report(d)
		case orchestrator.AgentStalledRecord:
			key := orchestrator.AgentKey(d.Role, d.Task)
			k := f.agents[key]
			k.silent = time.Duration(d.Seconds) * time.Second
			f.agents[key] = k
		}
	}
	return f
}

func (f *folded) enter(phase, kind string) {
	spent, again := f.spent[phase]
	f.spent[phase] = spent
	f.since[phase] = true
	if kind == planKind && again {
		f.replan, f.since = phase, map[string]bool{}
	}
}

func (f *folded) report(d orchestrator.AgentStatusRecord) {
	key := orchestrator.AgentKey(d.Role, d.Task)
	k := f.agents[key]
	k.doing, k.silent = cmp.Or(d.Message, d.CurrentTask), 0
	f.agents[key] = k
}

// forgetFollowing drops the times of the phases behind a plan that was made anew,
// unless they were entered since.
func (f *folded) forgetFollowing(ids []string) {
	behind := false
	for _, id := range ids {
		if behind && f.replan != "" && !f.since[id] {
			delete(f.spent, id)
		}
		behind = behind || id == f.replan
	}
}

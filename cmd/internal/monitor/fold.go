package monitor

import (
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
		switch e.Type {
		case orchestrator.EvPhaseEntered:
			f.enter(text(e, "phase"), text(e, "kind"))
		case orchestrator.EvPhaseLeft: // also of the first phase, which nobody entered
			if spent, entered := f.spent[text(e, "phase")]; entered {
				f.spent[text(e, "phase")] = spent + time.Duration(number(e, "seconds"))*time.Second
			}
		case orchestrator.EvResumed:
			f.ended = time.Time{}
		case orchestrator.EvDone, orchestrator.EvNeedsHuman, orchestrator.EvFailed, orchestrator.EvCanceled:
			f.ended = e.TS.Time
		default:
			f.agent(e)
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

func (f *folded) agent(e orchestrator.Event) {
	key := orchestrator.AgentKey(text(e, "role"), text(e, "task"))
	k := f.agents[key]
	switch e.Type {
	case orchestrator.EvAgentStarted:
		k = known{launch: text(e, "launch"), provider: text(e, "provider"), started: e.TS.Time}
	case orchestrator.EvAgentStatus:
		k.doing, k.silent = text(e, "message"), 0
		if task := text(e, "current_task"); task != "" && k.doing == "" {
			k.doing = task
		}
	case orchestrator.EvAgentStalled:
		k.silent = time.Duration(number(e, "seconds")) * time.Second
	default:
		return
	}
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

func text(e orchestrator.Event, name string) string {
	s, _ := e.Data[name].(string)
	return s
}

// number reads a count as the file and as a reducer hold it.
func number(e orchestrator.Event, name string) int {
	switch n := e.Data[name].(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}

package story

import (
	"cmp"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
)

// Agent is what the records tell of an agent's newest launch.
type Agent struct {
	Launch   orchestrator.Launch
	Provider string
	Doing    string // what it reported last
	Started  time.Time
	Silent   time.Duration // 0: it reported since, or was never found silent
	Limited  bool          // its provider refuses more, or did when the agent was heard of last
	Until    time.Time     // while Limited: when it may take more, if that is known
}

// Agents are those of a session by their keys.
type Agents map[orchestrator.AgentKey]Agent

// Fold takes in one record.
func (a *Agents) Fold(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.AgentStartedRecord:
		a.change(d.Role, d.Task, func(agent *Agent) {
			*agent = Agent{Launch: d.Launch, Provider: d.Provider, Started: e.TS.Time}
		})
	case orchestrator.AgentStatusRecord:
		a.change(d.Role, d.Task, func(agent *Agent) {
			agent.Doing, agent.Silent, agent.Limited = cmp.Or(d.Message, d.CurrentTask), 0, false
		})
	case orchestrator.AgentWaitingRecord:
		a.change(d.Role, d.Task, func(agent *Agent) { agent.Limited, agent.Until = d.OnProvider(), d.Until.Time })
	case orchestrator.AgentExitedRecord:
		a.change(d.Role, d.Task, func(agent *Agent) { agent.Limited = false })
	case orchestrator.SubmissionRecord:
		a.change(d.Role, d.Task, func(agent *Agent) { agent.Limited = false })
	case orchestrator.PhaseEnteredRecord:
		a.enter()
	case orchestrator.AgentStalledRecord:
		a.change(d.Role, d.Task, func(agent *Agent) { agent.Silent = time.Duration(d.Seconds) * time.Second })
	}
}

// enter ends the waits of the phase before, whose agents are gone.
func (a *Agents) enter() {
	for key, agent := range *a {
		agent.Limited = false
		(*a)[key] = agent
	}
}

func (a *Agents) change(role, task string, with func(*Agent)) {
	if *a == nil {
		*a = Agents{}
	}
	key := orchestrator.KeyOf(role, task)
	agent := (*a)[key]
	with(&agent)
	(*a)[key] = agent
}

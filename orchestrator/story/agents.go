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
			agent.Doing, agent.Silent = cmp.Or(d.Message, d.CurrentTask), 0
		})
	case orchestrator.AgentStalledRecord:
		a.change(d.Role, d.Task, func(agent *Agent) { agent.Silent = time.Duration(d.Seconds) * time.Second })
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

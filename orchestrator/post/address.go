package post

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// System is the sender of what the session itself has to say.
const System = "system"

// Address returns what messages call an agent: <session>/<agent> in a run of an agents file, whose
// session is the mesh, else pipeline/<role>[-<task>].
func Address(def *workflows.Definition, key orchestrator.AgentKey) string {
	if _, task := key.Split(); def.Team != nil && def.Team.Agent(task) != nil {
		return def.Team.Session + "/" + task
	}
	return key.Address()
}

// At returns the agent of the session with an address; "" if it has none there.
func At(def *workflows.Definition, s *orchestrator.State, address string) orchestrator.AgentKey {
	if def.Team != nil {
		for i := range def.Team.Agents {
			a := &def.Team.Agents[i]
			if key := orchestrator.KeyOf(a.Role, a.Name); addressed(def, key, address) {
				return key
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Agents)) {
		if addressed(def, key, address) {
			return key
		}
	}
	return ""
}

// addressed reports whether an address names an agent. Sessions of earlier versions have the form of
// a workflow in every run.
func addressed(def *workflows.Definition, key orchestrator.AgentKey, address string) bool {
	return address == Address(def, key) || address == key.Address()
}

// Waiting returns the messages to an agent that were not delivered yet, in the order in which it
// gets them. What waits until an ask of the agent is answered, or for the rest of a batch, is not among
// them.
func Waiting(def *workflows.Definition, s *orchestrator.State, key orchestrator.AgentKey) []orchestrator.Message {
	var waiting []orchestrator.Message
	asks := Asks(def, s, key)
	for _, m := range s.Messages {
		if m.State == orchestrator.MessageQueued && addressed(def, key, m.To) && !(asks && held(m)) && !waitsForBatch(s, m) {
			waiting = append(waiting, m)
		}
	}
	slices.SortStableFunc(waiting, before)
	return waiting
}

// Of returns the messages of a list that are to an agent, in their order.
func Of(def *workflows.Definition, list []orchestrator.Message, key orchestrator.AgentKey) []orchestrator.Message {
	var found []orchestrator.Message
	for _, m := range list {
		if addressed(def, key, m.To) {
			found = append(found, m)
		}
	}
	return found
}

// agentOf returns the agent that an address names, whatever mesh is before it.
func agentOf(address string) string {
	_, agent, ok := strings.Cut(address, "/")
	if !ok {
		return address
	}
	return agent
}

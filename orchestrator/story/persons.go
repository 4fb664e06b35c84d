package story

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// Persons are the agents at whose panes a person took part, in the order that this was seen.
type Persons []orchestrator.AgentKey

// Fold takes in one record.
func (p *Persons) Fold(e orchestrator.Event) {
	d, ok := e.Data.(orchestrator.PersonTypedRecord)
	if key := orchestrator.KeyOf(d.Role, d.Task); ok && d.Role != "" && !slices.Contains(*p, key) {
		*p = append(*p, key)
	}
}

// Of returns those that work for a task, or all of them if it is empty.
func (p Persons) Of(task string) (of Persons) {
	for _, key := range p {
		if _, t := key.Split(); task == "" || t == task {
			of = append(of, key)
		}
	}
	return of
}

// Lines says in a line that a person took part, if one did.
func (p Persons) Lines() []string {
	if len(p) == 0 {
		return nil
	}
	names := make([]string, len(p))
	for i, key := range p {
		names[i] = string(key)
	}
	return []string{"a person typed to " + strings.Join(names, ", ")}
}

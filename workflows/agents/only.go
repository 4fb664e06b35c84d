package agents

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agentmux/agentmux/internal/document"
)

// Only returns the team of some of its agents with all that they need, in the order of the file.
// Without names it is the whole team. The error names every agent that there is not.
func (t *Team) Only(names []string) (*Team, error) {
	if len(names) == 0 {
		return t, nil
	}
	var unknown []error
	needed := map[string]bool{}
	for next := slices.Clone(names); len(next) > 0; next = next[1:] {
		a := t.Agent(next[0])
		switch {
		case a == nil:
			unknown = append(unknown, fmt.Errorf("no agent is called %q", document.Excerpt(next[0])))
		case !needed[a.Name]:
			needed[a.Name] = true
			next = append(next, a.DependsOn...)
		}
	}
	if len(unknown) > 0 {
		return nil, errors.Join(unknown...)
	}
	some := *t
	some.Agents = slices.DeleteFunc(slices.Clone(t.Agents), func(a Agent) bool { return !needed[a.Name] })
	return &some, nil
}

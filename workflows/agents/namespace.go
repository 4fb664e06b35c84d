package agents

import (
	"errors"
	"slices"
	"strings"
)

// Namespaced returns the team with prefix and a slash in front of each branch that does not begin
// so, and without the wish for it. The error names every branch that git would not take.
func (t *Team) Namespaced(prefix string) (*Team, error) {
	if prefix == "" {
		return nil, errors.New("namespace_branches: git knows no name to put in front of the branches; git config user.name sets it")
	}
	named := *t
	named.NamespaceBranches, named.Agents = false, slices.Clone(t.Agents)
	for i := range named.Agents {
		if a := &named.Agents[i]; a.Branch != "" && !strings.HasPrefix(a.Branch, prefix+"/") {
			a.Branch = prefix + "/" + a.Branch
		}
	}
	_, problems := Parse("namespace_branches", named.Encode(), Known{})
	return &named, problems.Err()
}

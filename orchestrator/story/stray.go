package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// Stray is a file that a subplan changed though the plan does not give it that file, or an agent of an
// agents file outside of its scope. The change was taken, see implement.scope_policy and agents.scope_policy.
type Stray struct {
	Subplan string `json:"subplan,omitempty"`
	Agent   string `json:"agent,omitempty"` // of an agents file; empty: it was a subplan
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// Owner names who changed the file: "subplan 2" or "agent greeting".
func (s Stray) Owner() string {
	if s.Agent != "" {
		return "agent " + s.Agent
	}
	return "subplan " + s.Subplan
}

// strayOf returns a stray of who the record is about, without a path.
func strayOf(d orchestrator.ScopeViolationRecord) Stray {
	if d.Agent {
		return Stray{Agent: d.ID}
	}
	return Stray{Subplan: d.ID}
}

// Strays are those of a session's whole life, in the order they came, each path once.
type Strays []Stray

// Fold takes in one record. What a strict session refused is not in its work.
func (s *Strays) Fold(e orchestrator.Event) {
	d, ok := e.Data.(orchestrator.ScopeViolationRecord)
	if !ok || d.Policy == "fail" {
		return
	}
	for _, p := range scopePaths(d) {
		stray := strayOf(d)
		stray.Path, stray.Added, stray.Removed = p.Path, p.Added, p.Removed
		// Agents have branches of their own: what two of them changed is two files.
		*s = append(slices.DeleteFunc(*s, func(old Stray) bool { return old.Path == p.Path && old.Agent == stray.Agent }), stray)
	}
}

// By returns those of an agent of an agents file.
func (s Strays) By(agent string) Strays {
	return slices.DeleteFunc(slices.Clone(s), func(stray Stray) bool { return stray.Agent != agent })
}

// Of names who changed a path without owning it, see [Stray.Owner]; "" of any other path.
func (s Strays) Of(path string) (owner string) {
	for _, stray := range s {
		if stray.Path == path {
			return stray.Owner()
		}
	}
	return ""
}

// maxStrays is how many files Lines names.
const maxStrays = 20

// Lines names the files in a line of Markdown; none if there are no such files. name makes a
// path fit for Markdown.
func (s Strays) Lines(name func(path string) string) []string {
	if len(s) == 0 {
		return nil
	}
	what := "their subplan"
	if s[0].Agent != "" {
		what = "the scope"
	}
	return []string{"**Changed outside of " + what + ":** " + s.Tell(maxStrays, name)}
}

// Tell names at most most of the files by name, which makes a path fit for where it is shown.
func (s Strays) Tell(most int, name func(path string) string) string {
	var parts []string
	for i, stray := range s {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(s)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", name(stray.Path), stray.Owner()))
	}
	return strings.Join(parts, ", ")
}

// scopePaths returns the paths of a record; a damaged one may hold some without a name.
func scopePaths(d orchestrator.ScopeViolationRecord) []orchestrator.ScopePath {
	return slices.DeleteFunc(slices.Clone(d.Paths), func(p orchestrator.ScopePath) bool { return p.Path == "" })
}

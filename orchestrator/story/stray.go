package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// Stray is a file that a subplan changed though the plan does not give it that file. The
// change was taken, see implement.scope_policy.
type Stray struct {
	Subplan string `json:"subplan"`
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
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
		stray := Stray{Subplan: d.ID, Path: p.Path, Added: p.Added, Removed: p.Removed}
		*s = append(slices.DeleteFunc(*s, func(old Stray) bool { return old.Path == p.Path }), stray)
	}
}

// Of returns the subplan that changed a path it does not own; "" of any other path.
func (s Strays) Of(path string) (subplan string) {
	for _, stray := range s {
		if stray.Path == path {
			return stray.Subplan
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
	return []string{"**Changed outside of their subplan:** " + s.Tell(maxStrays, name)}
}

// Tell names at most most of the files by name, which makes a path fit for where it is shown.
func (s Strays) Tell(most int, name func(path string) string) string {
	var parts []string
	for i, stray := range s {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(s)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (subplan %s)", name(stray.Path), stray.Subplan))
	}
	return strings.Join(parts, ", ")
}

// scopePaths returns the paths of a record; a damaged one may hold some without a name.
func scopePaths(d orchestrator.ScopeViolationRecord) []orchestrator.ScopePath {
	return slices.DeleteFunc(slices.Clone(d.Paths), func(p orchestrator.ScopePath) bool { return p.Path == "" })
}

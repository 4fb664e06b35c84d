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
	if e.Type != orchestrator.EvScopeViolation || text(e, "policy") == "fail" {
		return
	}
	for _, p := range scopePaths(e) {
		stray := Stray{Subplan: text(e, "id"), Path: p.Path, Added: p.Added, Removed: p.Removed}
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

// scopePaths reads paths as the file and as a reducer hold them.
func scopePaths(e orchestrator.Event) (paths []orchestrator.ScopePath) {
	switch list := e.Data["paths"].(type) {
	case []orchestrator.ScopePath:
		return list
	case []any:
		for _, item := range list {
			fields, _ := item.(map[string]any)
			one := orchestrator.Event{Data: fields}
			if path := text(one, "path"); path != "" {
				paths = append(paths, orchestrator.ScopePath{Path: path, Added: number(one, "added"), Removed: number(one, "removed")})
			}
		}
	}
	return paths
}

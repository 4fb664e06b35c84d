package duty

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/orchestrator"
)

// Warnings tells what of submitted work needs the eyes of a person.
func Warnings(snap *orchestrator.Snapshot) []string {
	var out []string
	if snap.Tree != "" && snap.Files == 0 {
		out = append(out, "nothing in the workspace differs from what it was made from")
	}
	for _, p := range snap.Scope {
		out = append(out, p.Path+" does not belong to this subplan")
	}
	for _, path := range snap.Left {
		out = append(out, path+" is left out: it stays as it was")
	}
	for _, path := range snap.Held {
		out = append(out, path+" needs the approval of a person")
	}
	for _, finding := range snap.Findings {
		out = append(out, "the output gate blocks "+finding)
	}
	return out
}

// Outside tells of each path that it is not of the subplan.
func Outside(paths []orchestrator.ScopePath) []string {
	var out []string
	for _, p := range paths {
		out = append(out, fmt.Sprintf("%s does not belong to this subplan", p.Path))
	}
	return out
}

// PathNames lists the first few paths in one line.
func PathNames(paths []orchestrator.ScopePath) string {
	const most = 10
	var names []string
	for _, p := range paths[:min(most, len(paths))] {
		names = append(names, p.Path)
	}
	if len(paths) > most {
		names = append(names, fmt.Sprintf("%d more", len(paths)-most))
	}
	return strings.Join(names, ", ")
}

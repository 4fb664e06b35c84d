// Package runlog reads the log of a job as a runner of GitHub Actions does: it finds the workflow
// commands in it, and none between ::stop-commands:: and the token that it names. It stores nothing.
package runlog

import (
	"slices"
	"strings"
)

// Commands returns the lines of a log that a runner takes as commands, in order.
func Commands(log string) (found []string) {
	stopped := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		switch {
		case stopped != "":
			if line == "::"+stopped+"::" {
				stopped = ""
			}
		case strings.HasPrefix(line, "::stop-commands::"):
			stopped = strings.TrimPrefix(line, "::stop-commands::")
		case strings.HasPrefix(line, "::") || strings.HasPrefix(line, "##["):
			found = append(found, line)
		}
	}
	return found
}

// Kinds returns the names of commands, each once, sorted.
func Kinds(commands []string) (kinds []string) {
	for _, c := range commands {
		kind, _, _ := strings.Cut(strings.TrimPrefix(c, "::"), "::")
		kind, _, _ = strings.Cut(kind, " ")
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// Annotations returns the texts of the annotations of a level, by title.
func Annotations(log, level string) map[string]string {
	found := map[string]string{}
	for _, c := range Commands(log) {
		head, text, _ := strings.Cut(strings.TrimPrefix(c, "::"), "::")
		if title, ok := strings.CutPrefix(head, level+" title="); ok {
			found[title] = text
		}
	}
	return found
}

package config

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// removedKeys maps keys that earlier versions knew to what takes their place. A *
// stands for any name.
var removedKeys = [][2]string{
	{"defaults.session_name", "removed: name a session with --name"},
	{"defaults.compression", "removed without replacement: prompts are files and need none"},
	{"defaults.tier", "removed: set defaults.model or roles.<role>.model"},
	{"defaults.profile", "removed: set roles.<role>.provider and roles.<role>.model"},
	{"profiles", "removed: set roles.<role>.provider and roles.<role>.model"},
	{"launchers", "removed: describe the command under providers.<name>"},
	{"providers.*.single_coder", "removed: set limits.parallel to 1"},
	{"providers.*.sub_agent_tool", "removed: parallel groups of the plan replace it, see limits.parallel"},
	{"providers.*.trust_snippet", "removed: use providers.<name>.trust, a list of {text, key}"},
	{"providers.*.trust_key", "removed: use providers.<name>.trust, a list of {text, key}"},
	{"providers.*.batch_command", "removed: use providers.<name>.command with headless_args"},
	{"providers.*.batch_subcommand", "removed: put the word first in providers.<name>.headless_args"},
}

// withoutRemoved returns n without the removed keys, and a problem for each.
func withoutRemoved(n *document.Node) (*document.Node, document.Problems) {
	var problems document.Problems
	for _, removed := range removedKeys {
		for _, path := range find(n, strings.Split(removed[0], ".")) {
			problems = append(problems, n.Problem(pathText(path), "%s", removed[1]))
			n = without(n, path)
		}
	}
	return n, problems
}

// wrongVersion returns the problem of a file's version, or nil.
func wrongVersion(n *document.Node) *document.Problem {
	var p document.Problem
	v := n.Field("version")
	number, ok := v.Int()
	switch {
	case v == nil || v.Kind == document.Null:
		p = n.Problem("version", "required key missing, add \"version: %d\"", Version)
	case ok && number == Version:
		return nil
	case ok && number < Version:
		p = n.Problem("version", "version %d is no longer read: the keys that were removed are reported, "+
			"the others kept their names; set it to %d when they are gone", number, Version)
	case ok:
		p = n.Problem("version", "version %d was made for a newer agentmux, this one reads %d", number, Version)
	default:
		p = n.Problem("version", "expected %d, found %s", Version, v.Found())
	}
	return &p
}

// find returns the paths in n that match a pattern of keys.
func find(n *document.Node, pattern []string) [][]string {
	if len(pattern) == 0 {
		return [][]string{nil}
	}
	if n == nil || n.Kind != document.Map {
		return nil
	}
	var found [][]string
	for _, f := range n.Fields {
		if pattern[0] != "*" && pattern[0] != f.Key {
			continue
		}
		for _, rest := range find(f.Value, pattern[1:]) {
			found = append(found, append([]string{f.Key}, rest...))
		}
	}
	return found
}

// without returns a copy of n that lacks the field at path.
func without(n *document.Node, path []string) *document.Node {
	out := *n
	out.Fields = nil
	for _, f := range n.Fields {
		if f.Key != path[0] {
			out.Fields = append(out.Fields, f)
			continue
		}
		if len(path) > 1 {
			f.Value = without(f.Value, path[1:])
			out.Fields = append(out.Fields, f)
		}
	}
	return &out
}

func pathText(path []string) string {
	text := ""
	for _, key := range path {
		text = document.Key(text, key)
	}
	return text
}

// unknownName returns the text for a name that is not one of known.
func unknownName(kind, name string, known []string) string {
	if near := document.Nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s %q, did you mean %q?", kind, document.Excerpt(name), near)
	}
	return fmt.Sprintf("unknown %s %q, known: %s", kind, document.Excerpt(name), strings.Join(known, ", "))
}

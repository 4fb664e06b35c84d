package project

import (
	"regexp"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// Workflow is a workflow of GitHub Actions that starts by itself on a session's branch.
type Workflow struct {
	File    string
	Events  []string // push, pull_request, pull_request_target
	Secrets []SecretUse
}

// SecretUse is a line of a workflow that hands out a secret.
type SecretUse struct {
	Line int
	Name string // empty: all of them
}

var (
	// secretName finds secrets.NAME; the group is empty for secrets[...] and toJSON(secrets).
	secretName = regexp.MustCompile(`(?i)\bsecrets\s*(?:\.\s*([a-z_][a-z0-9_-]*)|\[|\))`)
	inherited  = regexp.MustCompile(`^\s*secrets\s*:\s*["']?inherit\b`)
)

// readWorkflow tells when a workflow starts and which secrets it names, but for the token
// that every run has. A file that cannot be read is taken to start always.
func readWorkflow(file string, data []byte, branch string) Workflow {
	w := Workflow{File: file, Events: []string{"push", "pull_request"}}
	if doc, problems := document.Parse(file, data); problems.Err() == nil {
		w.Events = triggers(doc.Field("on"), branch)
	}
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if inherited.MatchString(line) {
			w.Secrets = append(w.Secrets, SecretUse{Line: i + 1})
		}
		for _, m := range secretName.FindAllStringSubmatch(line, -1) {
			if !strings.EqualFold(m[1], "GITHUB_TOKEN") {
				w.Secrets = append(w.Secrets, SecretUse{Line: i + 1, Name: m[1]})
			}
		}
	}
	return w
}

// triggers are the events of a workflow that a push of branch, or a pull request from it,
// starts. Filters by path are ignored, because any file may change.
func triggers(on *document.Node, branch string) []string {
	var events []string
	take := func(event string, filter *document.Node) {
		switch event {
		case "push":
			if pushStarts(filter, branch) {
				events = append(events, event)
			}
		case "pull_request", "pull_request_target": // their filters are of the base
			events = append(events, event)
		}
	}
	switch {
	case on == nil:
	case on.Kind == document.Scalar:
		take(on.Text, nil)
	case on.Kind == document.List:
		for _, item := range on.Items {
			take(item.Text, nil)
		}
	default:
		for _, f := range on.Fields {
			take(f.Key, f.Value)
		}
	}
	return events
}

// pushStarts judges the filters of on.push.
func pushStarts(filter *document.Node, branch string) bool {
	branches, ignored := filter.Field("branches"), filter.Field("branches-ignore")
	switch {
	case branches != nil:
		return matchesLast(patterns(branches), branch)
	case ignored != nil:
		return !matchesLast(patterns(ignored), branch)
	}
	return filter.Field("tags") == nil && filter.Field("tags-ignore") == nil
}

func patterns(n *document.Node) []string {
	if n.Kind == document.Scalar {
		return []string{n.Text}
	}
	var list []string
	for _, item := range n.Items {
		list = append(list, item.Text)
	}
	return list
}

// matchesLast follows GitHub: a later pattern that begins with ! takes a match back.
func matchesLast(list []string, branch string) bool {
	matched := false
	for _, pattern := range list {
		positive := !strings.HasPrefix(pattern, "!")
		if globMatches(strings.TrimPrefix(pattern, "!"), branch) {
			matched = positive
		}
	}
	return matched
}

// globMatches knows *, **, ?, + and sets as filters of workflows do: ? and + repeat the
// character or set before them.
func globMatches(pattern, name string) bool {
	var re strings.Builder
	re.WriteString("^")
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**"):
			re.WriteString(".*")
			i++
		case c == '*':
			re.WriteString("[^/]*")
		case strings.IndexByte("?+[]", c) >= 0:
			re.WriteByte(c)
		case c == '\\' && i+1 < len(pattern):
			i++
			re.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			re.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	compiled, err := regexp.Compile(re.String() + "$")
	return err != nil || compiled.MatchString(name) // what cannot be read counts as a match
}

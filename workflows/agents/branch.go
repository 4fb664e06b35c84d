package agents

import (
	"slices"
	"strings"
	"unicode"
)

// maxBranch keeps the file of a ref within the limits of file systems.
const maxBranch = 200

// branchProblem says why git takes no branch of this name, by the rules of
// git-check-ref-format(1) and git-branch(1); "" if it does.
func branchProblem(name string) string {
	parts := strings.Split(name, "/")
	switch {
	case len(name) > maxBranch:
		return "a branch has at most 200 bytes"
	case strings.HasPrefix(name, "-"):
		return "a branch must not begin with -"
	case name == "HEAD" || name == "@" || strings.HasPrefix(name, "refs/"):
		return "expected the name of a branch"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return "a branch must not hold white space or control characters"
	case strings.ContainsAny(name, `~^:?*[\`):
		return `a branch must not hold any of ~ ^ : ? * [ \`
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return "a branch must not hold .. or @{"
	case strings.HasSuffix(name, "."):
		return "a branch must not end with a dot"
	case slices.Contains(parts, ""):
		return "a branch must not begin or end with /, or hold //"
	}
	for _, part := range parts {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return "no part of a branch may begin with a dot or end with .lock"
		}
	}
	return ""
}

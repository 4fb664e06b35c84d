package outgate

import (
	"context"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/sanitize"
)

const (
	maxName = 255  // bytes of one component, the limit of common file systems
	maxPath = 1024 // bytes
)

// NameProblem says what is wrong with the name of a file that is added, "" for
// nothing. A snapshot asks it too.
func NameProblem(p string) string {
	switch {
	case !utf8.ValidString(p):
		return "name is not UTF-8"
	case len(p) > maxPath:
		return "path is longer than 1024 bytes"
	case sanitize.NFC(p) != p:
		return "name is not in Unicode form NFC"
	}
	for name := range strings.SplitSeq(p, "/") {
		if problem := componentProblem(name); problem != "" {
			return problem
		}
	}
	return ""
}

func componentProblem(name string) string {
	switch {
	case len(name) > maxName:
		return "name is longer than 255 bytes"
	case strings.HasPrefix(name, "-"):
		return "name begins with -"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "name ends in a dot or a space"
	case strings.Contains(name, `\`):
		return "name holds a backslash"
	case strings.ContainsFunc(name, unseen):
		return "name holds a character that is not seen"
	}
	return ""
}

// unseen are controls, bidi marks, other format characters, spaces other than the plain one,
// fillers, and what is not a character at all.
func unseen(r rune) bool { return !unicode.IsPrint(r) || sanitize.Forbidden(r) }

// names judges added paths, and those among them that differ from another path of the
// tree only by case or form: on some file systems one would overwrite the other.
func (c *check) names(ctx context.Context) error {
	added := map[string]bool{}
	for _, ch := range c.changes {
		if ch.Status != 'A' {
			continue
		}
		added[ch.Path] = true
		if problem := NameProblem(ch.Path); problem != "" {
			c.find(Finding{Rule: "name", Path: ch.Path, Text: problem})
		}
	}
	if len(added) == 0 {
		return nil
	}
	known := spellings{}
	for p := range added {
		if known[path.Dir(p)] == nil {
			names, err := c.repo.NamesAlong(ctx, c.Tree, p)
			if err != nil {
				return err
			}
			known.add(names)
		}
		if known.twice(p) {
			c.find(Finding{Rule: "name", Path: p, Text: "equals another name but for case or form"})
		}
	}
	return nil
}

// spellings tells by directory how often each folded name is there.
type spellings map[string]map[string]int

// add takes the names in directories that are not known yet.
func (s spellings) add(names map[string][]string) {
	for dir, list := range names {
		if s[dir] != nil {
			continue
		}
		s[dir] = map[string]int{}
		for _, name := range list {
			s[dir][folded(name)]++
		}
	}
}

// twice reports whether a path or a directory that leads to it has a name twice.
func (s spellings) twice(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if s[path.Dir(p)][folded(path.Base(p))] > 1 {
			return true
		}
	}
	return false
}

// folded is sanitize.Fold, at once for the names that most files have.
func folded(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return sanitize.Fold(name)
	}
	return strings.ToLower(name)
}

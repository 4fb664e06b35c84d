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
	var added []string
	for _, ch := range c.changes {
		if ch.Status != 'A' {
			continue
		}
		added = append(added, ch.Path)
		if problem := NameProblem(ch.Path); problem != "" {
			c.find(Finding{Rule: "name", Path: ch.Path, Text: problem})
		}
	}
	if len(added) == 0 {
		return nil
	}
	names, err := c.repo.NamesAlong(ctx, c.Tree, added...)
	if err != nil {
		return err
	}
	known := spellingsOf(names)
	for _, p := range added {
		if known.twice(p) {
			c.find(Finding{Rule: "name", Path: p, Text: "equals another name but for case or form"})
		}
	}
	return nil
}

// spellings tells by directory how often each folded name is there.
type spellings map[string]map[string]int

func spellingsOf(names map[string][]string) spellings {
	s := spellings{}
	for dir, list := range names {
		s[dir] = map[string]int{}
		for _, name := range list {
			s[dir][sanitize.Fold(name)]++
		}
	}
	return s
}

// twice reports whether a path or a directory that leads to it has a name twice.
func (s spellings) twice(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if s[path.Dir(p)][sanitize.Fold(path.Base(p))] > 1 {
			return true
		}
	}
	return false
}

package outgate

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/sanitize"
)

// DefaultProtected are the held paths where nothing else is configured.
func DefaultProtected() []string { return []string{".github/**", ".agentmux/**", "**/CODEOWNERS"} }

var tests = patterns("**/*_test.*", "**/test_*.py", "**/*.test.*", "**/*.spec.*", "**/*_spec.*", "**/*Test.java", "**/*Tests.java", "**/*Test.kt",
	"**/*Tests.cs", "**/*Test.php",
	"**/test/**", "**/tests/**", "**/__tests__/**", "**/testdata/**", "**/spec/**")

// paths judges where the change is: added, changed and deleted paths alike, so both
// names of a rename.
func (c *check) paths(context.Context) error {
	protected, allowed := c.protected(), patterns(c.Allow...)
	for _, ch := range c.changes {
		// A link in the place of a directory leads to what the patterns name below it.
		link := ch.OldMode == modeSymlink || ch.NewMode == modeSymlink || ch.NewMode == modeGitlink
		c.classify(place{ch.Path, ch.Path, "", link}, protected, allowed)
		parts := fold(ch.Path)
		for _, g := range tables() {
			if e, ok := g.find(parts, false); ok && g.Level == levelNamed {
				c.name(Note{g.Name, ch.Path, e.Why})
			}
		}
		if ch.NewMode == modeExecutable && ch.OldMode != modeExecutable {
			c.name(Note{"executable", ch.Path, "is executable now"})
		}
		if ch.Status == 'D' && matchAny(tests, ch.Path) {
			c.name(Note{"tests", ch.Path, "deleted"})
		}
	}
	return nil
}

// A place is a path that is judged, how it is shown, and what leads there from it.
type place struct {
	path, shown, how string
	link             bool // paths below it count, too
}

// classify blocks or holds a place because of where it is.
func (c *check) classify(p place, protected, allowed []pattern) {
	parts := fold(p.path)
	for _, g := range tables() {
		e, ok := g.find(parts, p.link)
		switch {
		case !ok || g.Level == levelNamed:
			continue
		case g.Level == levelHeld:
			c.hold(Note{"path." + g.Name, p.shown, p.how + e.Why})
		case matchParts(allowed, parts, false):
			c.hold(Note{"path.allowed", p.shown, p.how + e.Why})
		default:
			c.find(Finding{Rule: "path.blocked", Path: p.shown, Text: p.how + e.Why})
		}
		return
	}
	if matchParts(protected, parts, p.link) {
		c.hold(Note{"path.protected", p.shown, p.how + "a protected path"})
	}
}

func (c *check) protected() []pattern {
	list := c.Protected
	if list == nil {
		list = DefaultProtected()
	}
	var out []pattern
	for _, p := range list {
		if !strings.Contains(strings.TrimSuffix(p, "/"), "/") {
			p = "**/" + p
		}
		out = append(out, patterns(p, strings.TrimSuffix(p, "/")+"/**")...)
	}
	return out
}

// pattern is a path pattern by component: "**" stands for any number of directories,
// "*" and "?" as in path.Match. A pattern without "/" means the top directory.
type pattern []component

// component is a name of a pattern.
type component struct {
	text string
	deep bool   // "**"
	glob bool   // has signs of path.Match
	head string // what comes before the first of them
	tail string // and after the last one
}

func componentOf(text string) component {
	c := component{text: text, deep: text == "**", head: text}
	if i := strings.IndexAny(text, `*?[\`); i >= 0 {
		c.glob, c.head, c.tail = true, text[:i], text[strings.LastIndexAny(text, `*?[]\`)+1:]
	}
	return c
}

func (c component) match(name string) bool {
	if !c.glob {
		return c.text == name // nearly all of them
	}
	if !strings.HasPrefix(name, c.head) || !strings.HasSuffix(name, c.tail) {
		return false
	}
	ok, _ := path.Match(c.text, name)
	return ok
}

func patterns(list ...string) []pattern {
	out := make([]pattern, 0, len(list))
	for _, p := range list {
		p = strings.TrimPrefix(p, "/")
		if strings.HasSuffix(p, "/") {
			p += "**"
		}
		var pat pattern
		for _, name := range fold(p) {
			pat = append(pat, componentOf(name))
		}
		out = append(out, pat)
	}
	return out
}

func fold(p string) []string { return strings.Split(sanitize.Fold(p), "/") }

func matchAny(list []pattern, p string) bool { return matchParts(list, fold(p), false) }

// matchParts compares a folded path with each pattern. With through it also takes a path
// which a pattern leads through: a symlink ".claude" is a way to ".claude/settings.json".
func matchParts(list []pattern, parts []string, through bool) bool {
	return slices.ContainsFunc(list, func(pat pattern) bool { return pat.match(parts, through) })
}

// first returns the name that every path which the pattern takes has in it, if the pattern
// begins with a name.
func (pat pattern) first() (name string, ok bool) {
	for _, c := range pat {
		if !c.deep {
			return c.text, !c.glob
		}
	}
	return "", false
}

// match compares the pattern with a folded path. With through, a path that ends before
// the pattern does is taken if its last name was compared with a name of the pattern.
func (pat pattern) match(parts []string, through bool) bool {
	if len(pat) == 0 {
		return len(parts) == 0
	}
	if pat[0].deep {
		if len(pat) == 1 {
			return true // below, and the directory itself
		}
		for i := range parts {
			if pat[1:].match(parts[i:], through) {
				return true
			}
		}
		return false
	}
	if len(parts) == 0 {
		return false
	}
	if !pat[0].match(parts[0]) {
		return false
	}
	if len(parts) == 1 && len(pat) > 1 {
		return through || pat[1].deep && len(pat) == 2
	}
	return pat[1:].match(parts[1:], through)
}

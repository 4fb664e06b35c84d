package config

import (
	"regexp"
	"strings"

	"github.com/agentmux/agentmux/internal/document"
)

// Partial is what could be read of layers that have problems, for one who looks for other problems beside
// them. A key that Knows does not report may have any value.
type Partial struct {
	*Config
	unknown []string // sections and keys; an empty text is all of them
}

// Salvage is Load that returns what it could read although a problem is an error.
func Salvage(s Sources) (Partial, document.Problems) {
	l, c := read(s, false)
	l.complete(c, s.Home)
	p := Partial{Config: c}
	for _, problem := range l.problems.Errors() {
		p.unknown = append(p.unknown, l.nearest(problem.Path))
	}
	return p, l.problems
}

// Knows reports whether no problem is about one of the keys, their sections, or an unknown key
// in one of these: that may be a misspelled one of them.
func (p Partial) Knows(keys ...string) bool {
	for _, key := range keys {
		for _, path := range p.unknown {
			if path == "" || path == key || strings.HasPrefix(path, key+".") || strings.HasPrefix(key, path+".") {
				return false
			}
		}
	}
	return true
}

var index = regexp.MustCompile(`\[\d+\]`)

// nearest is the key of a path, or the section around it if there is no such key. It is empty for what
// is about a whole file.
func (l *loader) nearest(path string) string {
	path = index.ReplaceAllString(path, "")
	if path == "version" {
		return "" // of another one nothing is read
	}
	for path != "" && !l.builtIn(path) {
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return path
}

// builtIn reports whether the built-in layer has a key.
func (l *loader) builtIn(path string) bool {
	n := l.base
	for part := range strings.SplitSeq(path, ".") {
		if n = n.Field(part); n == nil {
			return false
		}
	}
	return true
}

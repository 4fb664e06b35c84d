// Package document reads YAML and JSON that people and agents wrote by hand, and
// reports everything that is wrong with it at once, each problem with its file,
// line and path.
//
// It is stricter than YAML: a repeated key, a second document, a merge key, an
// application tag and an alias that expands without end are problems. A file that
// is valid JSON is read as JSON, so escapes that YAML does not know keep their
// meaning. Nothing is stored; a Node belongs to its caller.
package document

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind tells the four shapes of a Node apart.
type Kind int

// The kinds. Null is an empty document, an empty value and `null`.
const (
	Null Kind = iota
	Scalar
	List
	Map
)

// Tags of scalars, as YAML's core schema resolves them.
const (
	TagText  = "!!str"
	TagInt   = "!!int"
	TagFloat = "!!float"
	TagBool  = "!!bool"
	TagTime  = "!!timestamp"
)

// Node is one value of a document with its place. Aliases are already expanded.
type Node struct {
	Kind   Kind
	Tag    string // of a Scalar, one of the Tag constants
	Text   string // of a Scalar, without quotes
	File   string
	Line   int // from 1
	Column int // from 1
	Items  []*Node
	Fields []Field
}

// Field is one entry of a Map, with the place of its key.
type Field struct {
	Key    string
	Line   int
	Column int
	Value  *Node
}

// Field returns the value under key, or nil when n is nil, no Map, or lacks it.
func (n *Node) Field(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return n.Fields[i].Value
		}
	}
	return nil
}

// IsText reports whether n is a scalar that a text field takes. A date counts:
// YAML gives it a tag of its own although its writer meant text.
func (n *Node) IsText() bool {
	return n != nil && n.Kind == Scalar && (n.Tag == TagText || n.Tag == TagTime)
}

// maxExcerpt bounds what a problem quotes from the document.
const maxExcerpt = 60

// Found describes n for "expected a list, found ...".
func (n *Node) Found() string {
	if n == nil {
		return "nothing"
	}
	switch n.Kind {
	case List:
		return "a list"
	case Map:
		return "a map"
	case Scalar:
		if n.IsText() {
			return strconv.Quote(Excerpt(n.Text))
		}
		return Excerpt(n.Text)
	}
	return "nothing"
}

// Excerpt cuts text to what fits into a problem.
func Excerpt(text string) string {
	r := []rune(text)
	if len(r) <= maxExcerpt {
		return text
	}
	return string(r[:maxExcerpt]) + "…"
}

// Problem makes a problem at path below n, with the file and the line of the
// deepest part of path that exists, so that a missing key points at its map.
func (n *Node) Problem(path, format string, args ...any) Problem {
	p := Problem{Path: path, Text: fmt.Sprintf(format, args...)}
	if n == nil {
		return p
	}
	p.File, p.Line = n.place(splitPath(path))
	return p
}

func (n *Node) place(path []string) (file string, line int) {
	file, line = n.File, n.Line
	for _, part := range path {
		next, at := n.step(part)
		if next == nil {
			break
		}
		n, file, line = next, next.File, at
	}
	return file, line
}

func (n *Node) step(part string) (*Node, int) {
	if n.Kind == List {
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= len(n.Items) {
			return nil, 0
		}
		return n.Items[i], n.Items[i].Line
	}
	for i := range n.Fields {
		if f := &n.Fields[i]; f.Key == part {
			return f.Value, f.Line
		}
	}
	return nil, 0
}

// Key appends a map key to a path. A key that would be taken for more than one
// part of a path is quoted.
func Key(path, key string) string {
	if key == "" || strings.ContainsFunc(key, parts) {
		key = strconv.Quote(Excerpt(key))
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// parts reports whether a character of a key would be taken for the end of it in a path.
func parts(c rune) bool {
	switch c {
	case '.', '[', ']', '"', '\\', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// Index appends a 0-based list index to a path.
func Index(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

// splitPath takes apart what Key and Index put together.
func splitPath(path string) []string {
	var parts []string
	for path != "" {
		if path[0] == '"' {
			q, err := strconv.QuotedPrefix(path)
			if err != nil {
				return append(parts, path)
			}
			key, _ := strconv.Unquote(q)
			parts, path = append(parts, key), path[len(q):]
		} else {
			end := strings.IndexAny(path, ".[]")
			if end < 0 {
				end = len(path)
			}
			if end > 0 {
				parts = append(parts, path[:end])
			}
			path = path[end:]
		}
		path = strings.TrimLeft(path, ".[]")
	}
	return parts
}

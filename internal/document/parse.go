package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	// maxNodes bounds the document after its aliases are expanded.
	maxNodes = 100_000
	maxDepth = 100
	// maxProblems bounds what a hostile document makes us say.
	maxProblems = 1000
)

// Parse reads one YAML or JSON document. The node is nil when the text cannot be
// read at all; else it holds what could be read, also next to problems. An empty
// document is a Null node. The name is the File of every node and problem.
func Parse(name string, data []byte) (*Node, Problems) { return read(name, data, false) }

// ParsePlain is Parse for documents in which every value is written where it is used: each
// anchor and each alias is a problem.
func ParsePlain(name string, data []byte) (*Node, Problems) { return read(name, data, true) }

func read(name string, data []byte, plain bool) (*Node, Problems) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if text := unreadable(data); text != "" {
		return nil, Problems{{File: name, Text: text}}
	}
	r := &reader{file: name, plain: plain, open: map[*yaml.Node]bool{}}
	if looksLikeJSON(data) {
		return r.json(data), r.problems
	}
	return r.yaml(data), r.problems
}

func unreadable(data []byte) string {
	switch {
	case !utf8.Valid(data):
		return "not valid UTF-8"
	case bytes.IndexByte(data, 0) >= 0:
		return "holds a NUL byte"
	}
	return ""
}

func looksLikeJSON(data []byte) bool {
	t := bytes.TrimLeft(data, " \t\r\n")
	return len(t) > 0 && (t[0] == '{' || t[0] == '[') && json.Valid(data)
}

// reader builds the nodes of one document.
type reader struct {
	file     string
	plain    bool // anchors and aliases are problems
	nodes    int
	full     bool
	open     map[*yaml.Node]bool // anchors being expanded
	expanded int                 // aliases being expanded: what they hold was reported before
	rows     []int               // see rowsOf
	problems Problems
}

func (r *reader) problem(line int, path, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{File: r.file, Line: line, Path: path, Text: fmt.Sprintf(format, args...)})
	}
}

func (r *reader) yaml(data []byte) *Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	r.rows = rowsOf(data)
	var first, second yaml.Node
	switch err := dec.Decode(&first); {
	case errors.Is(err, io.EOF):
		return &Node{File: r.file, Line: 1, Column: 1}
	case err != nil:
		r.syntax(data, err)
		return nil
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.syntax(data, err)
	default:
		r.problem(r.row(second.Line), "", "a second document starts here; only one is read")
	}
	root := &first
	if root.Kind == yaml.DocumentNode && len(root.Content) > 0 {
		root = root.Content[0]
	}
	r.place(root)
	return r.node(root, "", 0)
}

// rowsOf returns the line of data that each line of YAML begins on, or nil when they are the
// same: YAML also ends a line at a lone CR and at three characters that no editor counts as
// the end of one.
func rowsOf(data []byte) []int {
	other := func(end string) bool { return bytes.Contains(data, []byte(end)) }
	if !slices.ContainsFunc([]string{"\r", "\u0085", "\u2028", "\u2029"}, other) {
		return nil
	}
	text := string(data)
	rows, row := []int{0, 1}, 1
	for i, c := range text {
		switch c {
		case '\n':
			row++
		case '\r':
			if strings.HasPrefix(text[i+1:], "\n") {
				continue
			}
		case '\u0085', '\u2028', '\u2029':
		default:
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// row is the line of the text for a line of YAML.
func (r *reader) row(line int) int {
	if r.rows == nil {
		return line
	}
	return r.rows[min(line, len(r.rows)-1)]
}

// place gives the nodes below y the lines of the text.
func (r *reader) place(y *yaml.Node) {
	if r.rows == nil {
		return
	}
	y.Line = r.row(y.Line)
	for _, c := range y.Content {
		r.place(c)
	}
}

// counted matches the texts of the parser, as opposed to those of its scanner: their line is
// one too low.
var counted = regexp.MustCompile(`^did not find expected (?:key|node content|'-' indicator|',' or '[\]}]'|<document start>)`)

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?((?s).*)$`)

func (r *reader) syntax(data []byte, err error) {
	text, line := err.Error(), 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	if line > 0 && counted.MatchString(text) {
		line++
	}
	// The line is left out when it is the first.
	if line == 0 && !strings.HasPrefix(text, "unknown anchor") {
		line = 1
	}
	if row := r.row(line); tabbed(data, row) {
		r.problem(row, "", "not valid YAML: indented with a tab, it takes spaces")
		return
	}
	r.problem(r.row(line), "", "not valid YAML: %s", strings.ReplaceAll(text, "\n", " "))
}

// tabbed reports whether a line of data has a tab where YAML counts spaces. The parser does not name it.
func tabbed(data []byte, row int) bool {
	lines := strings.SplitN(string(data), "\n", row+1)
	if row < 1 || row > len(lines) {
		return false
	}
	text := lines[row-1]
	return strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t")
}

// node converts y. It returns nil when the rest of the document is not read.
func (r *reader) node(y *yaml.Node, path string, depth int) *Node {
	if !r.room(y.Line, path, depth) {
		return nil
	}
	r.unanchored(y, path)
	if y.Anchor != "" {
		r.open[y] = true
		defer delete(r.open, y)
	}
	n := &Node{File: r.file, Line: y.Line, Column: y.Column}
	switch y.Kind {
	case yaml.AliasNode:
		return r.alias(y, path, depth)
	case yaml.MappingNode:
		n.Kind = Map
		r.fields(n, y, path, depth)
	case yaml.SequenceNode:
		n.Kind = List
		for i, c := range y.Content {
			if item := r.node(c, Index(path, i), depth+1); item != nil {
				n.Items = append(n.Items, item)
			}
		}
	default:
		r.scalar(n, y, path)
	}
	if t := y.ShortTag(); n.Kind != Scalar && n.Kind != Null && t != "!!map" && t != "!!seq" {
		r.problem(y.Line, path, "tag %s is not supported", Excerpt(t))
	}
	return n
}

func (r *reader) room(line int, path string, depth int) bool {
	if depth > maxDepth {
		r.problem(line, path, "nested deeper than %d", maxDepth)
		return false
	}
	if r.nodes++; r.nodes > maxNodes {
		if !r.full {
			r.problem(line, "", "holds more than %d values", maxNodes)
		}
		r.full = true
	}
	return !r.full
}

// unanchored reports the anchor of a plain document.
func (r *reader) unanchored(y *yaml.Node, path string) {
	if r.plain && r.expanded == 0 && y.Anchor != "" {
		r.problem(y.Line, path, "anchors are not supported, found &%s", Excerpt(y.Anchor))
	}
}

func (r *reader) alias(y *yaml.Node, path string, depth int) *Node {
	if r.plain && r.expanded == 0 {
		r.problem(y.Line, path, "aliases are not supported, write the value in place of *%s", Excerpt(y.Value))
	}
	if y.Alias == nil || r.open[y.Alias] {
		r.problem(y.Line, path, "alias *%s contains itself", Excerpt(y.Value))
		return nil
	}
	r.expanded++
	n := r.node(y.Alias, path, depth+1)
	r.expanded--
	if n != nil {
		n.Line, n.Column = y.Line, y.Column
	}
	return n
}

func (r *reader) fields(n *Node, y *yaml.Node, path string, depth int) {
	seen := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		for k.Kind == yaml.AliasNode && k.Alias != nil && k.Alias != k {
			k = k.Alias
		}
		line := y.Content[i].Line
		if k.Kind != yaml.ScalarNode {
			r.problem(line, path, "a key must be a plain word")
			continue
		}
		if k.ShortTag() == "!!merge" {
			r.problem(line, path, "merge keys (<<) are not supported")
			continue
		}
		at := Key(path, k.Value)
		r.unanchored(y.Content[i], at)
		if r.plain && r.expanded == 0 && y.Content[i].Kind == yaml.AliasNode {
			r.problem(line, at, "aliases are not supported, write the key in place of *%s", Excerpt(y.Content[i].Value))
		}
		if before, ok := seen[k.Value]; ok {
			r.problem(line, at, "repeated key, first on line %d", before)
			continue
		}
		seen[k.Value] = line
		if v := r.node(y.Content[i+1], at, depth+1); v != nil {
			n.Fields = append(n.Fields, Field{Key: k.Value, Line: line, Column: k.Column, Value: v})
		}
	}
}

func (r *reader) scalar(n *Node, y *yaml.Node, path string) {
	switch tag := y.ShortTag(); tag {
	case "!!null":
	case TagText, TagInt, TagFloat, TagBool, TagTime:
		n.Kind, n.Tag, n.Text = Scalar, tag, y.Value
	default:
		n.Kind, n.Tag, n.Text = Scalar, TagText, y.Value
		r.problem(y.Line, path, "tag %s is not supported", Excerpt(tag))
	}
}

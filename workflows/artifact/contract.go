// Package artifact knows the files of a session that agents write or read: plans, reviews and
// approvals with the contract that each has to meet, and the texts that are made from them
// and from the request.
//
// It promises that a parser reports every problem of a file at once, each with its place,
// and that its work is bounded whatever an agent wrote. It reads and writes no file itself:
// the formats are those of docs/session-files.md.
package artifact

import (
	"strings"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/document"
)

const (
	// maxText bounds one text of an artifact, in characters.
	maxText = 20_000
	// maxErrors bounds one answer to an agent.
	maxErrors = 50
	// maxKept bounds the work that a hostile artifact can cause.
	maxKept = 1000
)

// contract is one artifact while it is checked. Problems carry no file: the agent
// that gets them has written just one.
type contract struct {
	root     *document.Node
	problems document.Problems
}

// newContract reads data; ok is false if data is not a map.
func newContract(data []byte) (c *contract, ok bool) {
	root, problems := document.Parse("", data)
	c = &contract{root: root, problems: problems}
	switch {
	case root == nil:
		return c, false
	case root.Kind == document.Null:
		c.add("", "the file is empty")
		return c, false
	case root.Kind != document.Map:
		c.add("", "expected a map, found %s", root.Found())
		return c, false
	}
	return c, true
}

func (c *contract) decode(v any) {
	c.problems = append(c.problems, document.Decode(c.root, v, document.Options{Unknown: document.UnknownWarn})...)
}

// strict is decode for a file in which a key that means nothing is an error.
func (c *contract) strict(v any) {
	c.problems = append(c.problems, document.Decode(c.root, v, document.Options{})...)
}

func (c *contract) add(path, format string, args ...any) {
	if len(c.problems) >= maxKept {
		return
	}
	c.problems = append(c.problems, c.root.Problem(path, format, args...))
}

// check adds a problem unless path is known to be wrong already.
func (c *contract) check(path, format string, args ...any) {
	if !c.problems.Has(path) {
		c.add(path, format, args...)
	}
}

// required checks a text that must not be blank.
func (c *contract) required(path string, text *string) {
	if strings.TrimSpace(*text) == "" {
		c.check(path, "required, found %s", missing(*text))
		return
	}
	c.length(path, *text)
}

func missing(text string) string {
	if text == "" {
		return "nothing"
	}
	return "only white space"
}

// optional checks a text that may be absent; a blank text counts as absent.
func (c *contract) optional(path string, text *string) {
	if strings.TrimSpace(*text) == "" {
		*text = ""
		return
	}
	c.length(path, *text)
}

func (c *contract) length(path, text string) {
	if n := utf8.RuneCountInString(text); n > maxText {
		c.check(path, "%d characters, at most %d are allowed", n, maxText)
	}
}

// present checks that a key exists, for values whose zero is valid.
func (c *contract) present(path string, n *document.Node, key string) {
	if v := n.Field(key); v == nil || v.Kind == document.Null {
		c.check(path, "required key missing")
	}
}

// result returns the errors in the order of the file, then the warnings, each list cut to
// what one answer to an agent holds.
func (c *contract) result() document.Problems {
	c.problems.Sort()
	return append(cut(c.problems.Errors(), "errors"), cut(c.problems.Warnings(), "warnings")...)
}

func cut(ps document.Problems, what string) document.Problems {
	if len(ps) <= maxErrors {
		return ps
	}
	notice := ps[maxErrors-1]
	notice.Path = ""
	notice.Text = "there are more " + what + " than fit here"
	return append(ps[:maxErrors-1:maxErrors-1], notice)
}

package message

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/agentmux/agentmux/internal/document"
)

// MaxFile bounds the file of a message.
const MaxFile = 256 << 10

const (
	maxHeadline = 200 // runes
	maxID       = 200 // bytes
)

var statusRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]*$`) })

// Parse reads the file of a message; name is its name without the directory, and known are the
// agents that the name may mean. If a problem is an error, the message is to be refused with
// these words, and what it says is only good for telling its sender. A warning names what was
// dropped.
func Parse(name string, data []byte, known []string) (Message, document.Problems) {
	return ParseClean(name, data, known, nil)
}

// ParseClean is Parse of what clean leaves of each text of a file, the body among them. It is asked
// before a text is cut: of a secret of which a part was cut off it may not know the rest. nil leaves
// all.
func ParseClean(name string, data []byte, known []string, clean func(string) string) (Message, document.Problems) {
	if len(data) > MaxFile {
		return Message{}, document.Problems{{File: name, Text: "larger than 256 KiB"}}
	}
	front, body, problem := split(data)
	p := &parser{name: name, m: Message{Body: body}}
	if problem != "" {
		p.problems = document.Problems{{File: name, Line: 1, Text: problem}}
		return p.m, p.problems
	}
	lines := append([]byte("---\n"), front...) // so that they count from the top of the file
	root, problems := document.Parse(name, lines)
	if clean != nil {
		p.m.Body = []byte(clean(string(body)))
		if len(problems) > 0 { // they quote the keys, and cut what they quote
			root, problems = document.Parse(name, []byte(clean(string(lines))))
		}
		cleanTexts(root, clean)
	}
	if p.problems = problems; root == nil {
		return p.m, p.problems
	}
	if p.root = root; root.Kind != document.Map && root.Kind != document.Null {
		p.problem("", "expected keys and values, found %s", root.Found())
	} else {
		p.required()
		p.optional(ParseName(name, known))
	}
	p.problems.Sort()
	return p.m, p.problems
}

// Reason is what is wrong with a refused message, in one line.
func Reason(problems document.Problems) string {
	var parts []string
	for _, p := range problems.Errors() {
		p.File = ""
		parts = append(parts, strings.ReplaceAll(p.String(), "\n", " "))
	}
	return strings.Join(parts, "; ")
}

// split takes a file apart at the first line and the next one that are exactly ---.
func split(data []byte) (front, body []byte, problem string) {
	rest, found := strings.CutPrefix(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "---")
	if line, _, _ := strings.Cut(rest, "\n"); !found || strings.TrimSuffix(line, "\r") != "" {
		return nil, data, "expected the line --- and the keys of a message below it"
	}
	_, rest, _ = strings.Cut(rest, "\n")
	at := 0
	for line := range strings.Lines(rest) {
		end := at + len(line)
		if strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") == "---" {
			return []byte(rest[:at]), data[len(data)-len(rest)+end:], ""
		}
		at = end
	}
	return nil, nil, "the keys have no end: expected another line ---"
}

// cleanTexts takes the secrets out of the texts of a document.
func cleanTexts(n *document.Node, clean func(string) string) {
	if n == nil {
		return
	}
	n.Text = clean(n.Text)
	for _, item := range n.Items {
		cleanTexts(item, clean)
	}
	for _, f := range n.Fields {
		cleanTexts(f.Value, clean)
	}
}

// parser fills a message from the keys of its file.
type parser struct {
	name     string
	root     *document.Node
	m        Message
	problems document.Problems
}

func (p *parser) problem(key, format string, args ...any) {
	if !p.problems.Has(key) {
		p.problems = append(p.problems, p.root.Problem(key, format, args...))
	}
}

func (p *parser) warn(key, format string, args ...any) {
	problem := p.root.Problem(key, format, args...)
	problem.Warning = true
	p.problems = append(p.problems, problem)
}

// text returns the text under a key as it was typed, also a number; ok is false if there is
// none. Another value is reported by complain.
func (p *parser) text(key string, complain func(key, format string, args ...any)) (text string, ok bool) {
	n := p.root.Field(key)
	switch {
	case n == nil || n.Kind == document.Null:
		return "", false
	case n.Kind != document.Scalar || n.Tag == document.TagBool:
		complain(key, "expected text, found %s", n.Found())
		return "", false
	}
	text = line(n.Text)
	return text, text != ""
}

func (p *parser) required() {
	kind, ok := p.text("type", p.problem)
	switch {
	case !ok:
		p.problem("type", "required key missing")
	case !slices.Contains(types, kind):
		p.problem("type", "expected %s, found %q", strings.Join(types, ", "), cut(kind))
	default:
		p.m.Type = kind
	}
	p.m.From = p.address("from")
	if kind != askHuman || p.root.Field("to") != nil {
		p.m.To = p.address("to")
	}
	switch {
	case p.m.To == System:
		p.problem("to", "system only sends")
	case kind != askHuman:
	case p.root.Field("to") == nil || p.m.To == Person:
		p.m.Type, p.m.To = Ask, Person
	default:
		p.problem("to", "%s goes to %s, found %q", askHuman, Person, cut(p.m.To.String()))
	}
}

func (p *parser) address(key string) Address {
	text, ok := p.text(key, p.problem)
	if !ok {
		p.problem(key, "required key missing")
		return Address{}
	}
	a, err := ParseAddress(text)
	if err != nil {
		p.problem(key, "%s", err)
	}
	return a
}

func (p *parser) optional(name Name) {
	m := &p.m
	m.Status = StatusOf(m.Type)
	if status, ok := p.text("status", p.warn); ok && statusRule().MatchString(status) {
		m.Status = status
	} else if ok {
		p.warn("status", "expected lower case letters, digits and -, found %q; it is %s", cut(status), m.Status)
	}
	if m.Requester, _ = p.text("requester", p.warn); m.Requester == "" {
		m.Requester = m.From.String()
	}
	if m.Headline, _ = p.text("headline", p.warn); m.Headline == "" {
		m.Headline = headline(m.Body)
	}
	m.Headline = visible(m.Headline)
	if m.ID = p.id("msg-id"); m.ID == "" {
		m.ID = name.ID
	}
	m.InReplyTo = p.id("in-reply-to")
	m.Replaces = p.id("supersedes")
	m.At, m.Deadline = p.time("timestamp"), p.time("deadline")
	m.Priority = Normal
	if priority, ok := p.text("priority", p.warn); ok && slices.Contains([]string{High, Normal, Low}, priority) {
		m.Priority = priority
	} else if ok {
		p.warn("priority", "expected high, normal or low, found %q; it is dropped", cut(priority))
	}
	p.tags()
	p.batch()
}

// id is the text under a key that names a message. A session keeps it and writes it into other files.
func (p *parser) id(key string) string {
	text, ok := p.text(key, p.warn)
	if ok && (text != visible(text) || len(text) > maxID) {
		p.warn(key, "expected up to %d visible characters in one line, found %q; it is dropped", maxID, cut(text))
		return ""
	}
	return text
}

func (p *parser) time(key string) time.Time {
	text, ok := p.text(key, p.warn)
	if !ok {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	p.warn(key, "expected a time such as 2026-01-15T10:05:00Z, found %q; it is dropped", cut(text))
	return time.Time{}
}

func (p *parser) tags() {
	n := p.root.Field("tags")
	if n == nil || n.Kind == document.Null {
		return
	}
	if n.Kind == document.Scalar && n.Tag != document.TagBool {
		for tag := range strings.SplitSeq(n.Text, ",") {
			if tag = line(tag); tag != "" {
				p.m.Tags = append(p.m.Tags, tag)
			}
		}
		return
	}
	if n.Kind != document.List {
		p.warn("tags", "expected a list, found %s; it is dropped", n.Found())
		return
	}
	for i, item := range n.Items {
		if item.Kind != document.Scalar {
			p.warn(document.Index("tags", i), "expected text, found %s; it is dropped", item.Found())
		} else if tag := line(item.Text); tag != "" {
			p.m.Tags = append(p.m.Tags, tag)
		}
	}
}

func (p *parser) batch() {
	size, given := p.text("batch-size", p.warn)
	batch := p.id("batch")
	named := batch != ""
	n, err := strconv.Atoi(size)
	switch {
	case !given && !named:
	case given && named && err == nil && n > 0:
		p.m.Batch, p.m.BatchSize = batch, n
	case given && (err != nil || n < 1):
		p.warn("batch-size", "expected a number of files, found %q; the batch is dropped", cut(size))
	default:
		p.warn("batch", "batch and batch-size belong together; the batch is dropped")
	}
}

// headline is the first heading of a body, else its first line that is not blank.
func headline(body []byte) string {
	first := ""
	for text := range strings.Lines(string(body)) {
		text = line(text)
		if title := strings.TrimLeft(text, "#"); title != text && len(text)-len(title) <= 6 && strings.HasPrefix(title, " ") {
			return line(title)
		}
		if first == "" {
			first = text
		}
	}
	return first
}

// visible drops what would change how a line looks, and the end of a very long one.
func visible(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, text)
	if runes := []rune(text); len(runes) > maxHeadline {
		text = string(runes[:maxHeadline]) + "…"
	}
	return strings.TrimSpace(text)
}

// line is a text without the blanks around it.
func line(text string) string { return strings.TrimSpace(text) }

func cut(text string) string { return document.Excerpt(text) }

package fakehub

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A gqlDocument is a parsed query text.
type gqlDocument struct {
	operations []*operation
	fragments  map[string]*selection
	used       map[string]bool // variables
	spreads    map[string]bool // fragments that are named somewhere
}

type operation struct {
	kind, name string
	variables  []variableDef
	selections []*selection
}

type variableDef struct {
	name     string
	required bool
	fallback any
}

// selection is a field (name set), an inline fragment (on or no name) or a spread.
type selection struct {
	alias, name string
	args        map[string]any
	on          string // type condition of a fragment
	spread      string // name of a fragment
	fragment    bool
	skip        any // value of @skip, or nil
	include     any // value of @include, or nil
	selections  []*selection
	has         bool // braces were there
}

// variable stands for a value of the request.
type variable string

// parser reads tokens; the first error stays.
type parser struct {
	tokens []string
	at     int
	err    error
	doc    *gqlDocument
}

var errQuery = errors.New("Parse error on query")

func parseQuery(text string) (*gqlDocument, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, doc: &gqlDocument{fragments: map[string]*selection{}, used: map[string]bool{}, spreads: map[string]bool{}}}
	for p.peek() != "" && p.err == nil {
		p.definition()
	}
	return p.doc, p.err
}

func (p *parser) peek() string {
	if p.at >= len(p.tokens) {
		return ""
	}
	return p.tokens[p.at]
}

func (p *parser) next() string {
	token := p.peek()
	p.at++
	return token
}

func (p *parser) take(want string) bool {
	if p.peek() == want {
		p.at++
		return true
	}
	return false
}

func (p *parser) need(want string) {
	if got := p.next(); got != want && p.err == nil {
		p.err = fmt.Errorf("%w: expected %q, got %q at token %d", errQuery, want, got, p.at)
		p.at = len(p.tokens)
	}
}

// word is a name.
func (p *parser) word() string {
	token := p.next()
	if token == "" || !isNameStart(token[0]) {
		if p.err == nil {
			p.err = fmt.Errorf("%w: expected a name, got %q", errQuery, token)
		}
		p.at = len(p.tokens)
	}
	return token
}

func (p *parser) definition() {
	if p.peek() == "{" {
		p.doc.operations = append(p.doc.operations, &operation{kind: "query", selections: p.block()})
		return
	}
	kind := p.word()
	if kind == "fragment" {
		name := p.word()
		p.need("on")
		p.doc.fragments[name] = &selection{fragment: true, on: p.word(), selections: p.block()}
		return
	}
	op := &operation{kind: kind}
	if p.peek() != "(" && p.peek() != "{" {
		op.name = p.word()
	}
	if p.take("(") {
		for p.peek() != ")" && p.err == nil {
			op.variables = append(op.variables, p.variableDef())
		}
		p.need(")")
	}
	op.selections = p.block()
	p.doc.operations = append(p.doc.operations, op)
}

func (p *parser) variableDef() variableDef {
	p.need("$")
	def := variableDef{name: p.word()}
	p.need(":")
	for p.take("[") {
	}
	p.word()
	for p.peek() == "!" || p.peek() == "]" {
		def.required = p.next() == "!"
	}
	if p.take("=") {
		def.fallback = p.value()
	}
	return def
}

// block is what stands in braces.
func (p *parser) block() []*selection {
	var list []*selection
	p.need("{")
	for p.peek() != "}" && p.err == nil {
		list = append(list, p.selection())
	}
	p.need("}")
	return list
}

func (p *parser) selection() *selection {
	sel := &selection{}
	if p.take("...") {
		sel.fragment = true
		switch {
		case p.take("on"):
			sel.on = p.word()
		case p.peek() != "{" && p.peek() != "@":
			sel.spread = p.word()
			p.doc.spreads[sel.spread] = true
		}
	} else {
		sel.name = p.word()
		sel.alias = sel.name
		if p.take(":") {
			sel.name = p.word()
		}
		sel.args = p.arguments()
	}
	p.directives(sel)
	if p.peek() == "{" {
		sel.has, sel.selections = true, p.block()
	}
	return sel
}

func (p *parser) arguments() map[string]any {
	args := map[string]any{}
	if !p.take("(") {
		return args
	}
	for p.peek() != ")" && p.err == nil {
		name := p.word()
		p.need(":")
		args[name] = p.value()
	}
	p.need(")")
	return args
}

func (p *parser) directives(sel *selection) {
	for p.take("@") {
		name := p.word()
		condition := p.arguments()["if"]
		switch name {
		case "skip":
			sel.skip = condition
		case "include":
			sel.include = condition
		}
	}
}

func (p *parser) value() any {
	token := p.next()
	switch {
	case token == "$":
		name := p.word()
		p.doc.used[name] = true
		return variable(name)
	case token == "[":
		list := []any{}
		for p.peek() != "]" && p.err == nil {
			list = append(list, p.value())
		}
		p.need("]")
		return list
	case token == "{":
		fields := map[string]any{}
		for p.peek() != "}" && p.err == nil {
			name := p.word()
			p.need(":")
			fields[name] = p.value()
		}
		p.need("}")
		return fields
	}
	return scalar(token)
}

// scalar reads a literal; an enum value is its name.
func scalar(token string) any {
	switch token {
	case "true", "false":
		return token == "true"
	case "null", "":
		return nil
	}
	if token[0] == '"' {
		text, err := strconv.Unquote(token)
		if err != nil {
			return strings.Trim(token, `"`)
		}
		return text
	}
	if n, err := strconv.ParseFloat(token, 64); err == nil {
		return n
	}
	return token
}

func isNameStart(c byte) bool {
	return c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z')
}

// lex cuts a query into names, numbers, strings and signs; commas are space.
func lex(text string) ([]string, error) {
	var tokens []string
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case strings.IndexByte(" \t\r\n,", c) >= 0:
			i++
		case c == '#':
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return tokens, nil
			}
			i += end
		case strings.HasPrefix(text[i:], "..."):
			tokens = append(tokens, "...")
			i += 3
		case strings.IndexByte("{}()[]:=!$@|&", c) >= 0:
			tokens = append(tokens, string(c))
			i++
		default:
			n := wordLength(text[i:])
			if n == 0 {
				return nil, fmt.Errorf("%w: unexpected %q", errQuery, c)
			}
			tokens = append(tokens, text[i:i+n])
			i += n
		}
	}
	return tokens, nil
}

// wordLength is the length of the name, number or string that text starts with.
func wordLength(text string) int {
	if text[0] == '"' {
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return 0
	}
	n := 0
	for n < len(text) && (isNameStart(text[n]) || strings.IndexByte("0123456789-.+", text[n]) >= 0) {
		if strings.HasPrefix(text[n:], "...") {
			break
		}
		n++
	}
	return n
}

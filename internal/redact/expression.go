package redact

import (
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strings"
)

const (
	// fewTexts is how many texts a piece may be a choice of, and fewRunes the size of a class
	// that counts as a choice of its characters.
	fewTexts = 40
	fewRunes = 10
	// leastWord is the length of the shortest text that places worth a look are found by.
	leastWord = 3
	endless   = math.MaxInt
)

// expression is a regular expression of the kind that tokens have, matched from left to right
// without going back: that takes one look at each byte, however hostile the text. It is the
// same as regexp finds as long as no piece takes what the next one needs.
type expression struct {
	parts  []piece
	anchor int // the piece that places are found by; -1: none
	width  int // of what is before the anchor; -1: parts[0] tells, and is all there is
}

// piece is a choice of texts, the longest first, or a number of characters of a class.
type piece struct {
	texts    []string
	class    *[256]bool
	min, max int
}

// leading returns the text that an expression begins with if a class follows that is repeated:
// then it is all of its words. Most expressions are such, and to parse them all would be a third
// of what the start of a command costs. Of others it returns "".
func leading(expression string) string {
	n := run(expression, isDashed)
	rest, class := strings.CutPrefix(expression[n:], `\w`)
	if !class && strings.HasPrefix(rest, "[") {
		_, rest, class = strings.Cut(rest, "]")
	}
	if n < leastWord || !class || rest == "" || strings.IndexByte("{+*", rest[0]) < 0 {
		return ""
	}
	return expression[:n]
}

// newExpression reads an expression, or says what it has that is not of this kind.
func newExpression(text string) (*expression, error) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	subs := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		subs = re.Sub
	}
	e := &expression{anchor: -1}
	for _, sub := range subs {
		next, err := newPiece(sub)
		if err != nil {
			return nil, err
		}
		if n := len(e.parts) - 1; n >= 0 && e.parts[n].texts != nil && next.texts != nil {
			if all := product(e.parts[n].texts, next.texts); len(all) <= fewTexts {
				e.parts[n].texts = all
				continue
			}
		}
		e.parts = append(e.parts, next)
	}
	for _, p := range e.parts {
		slices.SortFunc(p.texts, func(a, b string) int { return len(b) - len(a) })
	}
	e.findAnchor()
	return e, nil
}

func newPiece(re *syntax.Regexp) (piece, error) {
	if all := texts(re); all != nil {
		return piece{texts: all}, nil
	}
	p := piece{min: 1, max: 1}
	switch re.Op {
	case syntax.OpRepeat:
		p.min, p.max = re.Min, re.Max
	case syntax.OpStar:
		p.min, p.max = 0, -1
	case syntax.OpPlus:
		p.max = -1
	case syntax.OpQuest:
		p.min = 0
	}
	if p.max < 0 {
		p.max = endless
	}
	if re.Op != syntax.OpCharClass {
		if len(re.Sub) != 1 {
			return piece{}, fmt.Errorf("%s is neither texts nor a number of characters", re)
		}
		re = re.Sub[0]
	}
	p.class = new([256]bool)
	switch {
	case re.Op == syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if r > 127 {
					return piece{}, fmt.Errorf("%s is not of ASCII", re)
				}
				p.class[r] = true
			}
		}
	case re.Op == syntax.OpLiteral && len(re.Rune) == 1 && re.Rune[0] < 128:
		p.class[re.Rune[0]] = true
	default:
		return piece{}, fmt.Errorf("%s is neither texts nor a number of characters", re)
	}
	return p, nil
}

// texts returns all texts that re matches, or nil if they are many.
func texts(re *syntax.Regexp) (all []string) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return nil
		}
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if all = append(all, string(r)); len(all) > fewRunes {
					return nil
				}
			}
		}
		return all
	case syntax.OpQuest:
		if all = texts(re.Sub[0]); all != nil {
			all = append(slices.Clone(all), "")
		}
		return all
	case syntax.OpCapture:
		return texts(re.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			some := texts(sub)
			if some == nil {
				return nil
			}
			all = append(all, some...)
		}
		return all
	case syntax.OpConcat:
		all = []string{""}
		for _, sub := range re.Sub {
			some := texts(sub)
			if all = product(all, some); len(some) == 0 || len(all) > fewTexts {
				return nil
			}
		}
		return all
	}
	return nil
}

func product(heads, tails []string) (all []string) {
	for _, head := range heads {
		for _, tail := range tails {
			all = append(all, head+tail)
		}
	}
	return all
}

// findAnchor takes the first piece, or else the longest behind a known width.
func (e *expression) findAnchor() {
	width, longest := 0, leastWord-1
	for i, p := range e.parts {
		if p.texts == nil {
			if p.min == p.max {
				width += p.max
				continue
			}
			if i > 0 {
				return
			}
			width = -1
			continue
		}
		shortest := len(p.texts[len(p.texts)-1])
		if shortest > longest {
			e.anchor, e.width, longest = i, width, shortest
		}
		if i == 0 && e.anchor == 0 || width < 0 || shortest != len(p.texts[0]) {
			return
		}
		width += shortest
	}
}

// words are the texts of the anchor.
func (e *expression) words() []string {
	if e.anchor < 0 {
		return nil
	}
	return e.parts[e.anchor].texts
}

// start returns where a match begins whose anchor is at a place, or -1.
func (e *expression) start(text string, at int) int {
	if e.anchor == 0 {
		return at
	}
	lead := e.parts[0]
	start := at - e.width
	if e.width < 0 {
		for start = at; start > 0 && at-start < lead.max && lead.class[text[start-1]]; {
			start--
		}
	}
	if start > 0 && lead.class != nil && lead.class[text[start-1]] {
		return -1 // in the middle of something longer
	}
	return start
}

// match returns the length of the match that text begins with, or 0 and how far no other one
// can start: in a run of the first endless class, what starts later has less of it.
func (e *expression) match(text string) (length, skip int) {
	at := 0
	for _, p := range e.parts {
		n := p.match(text[at:])
		if skip == 0 && p.max == endless {
			skip = at + max(n, -n-1) - len(e.parts[0].longest())
		}
		if n < 0 {
			return 0, skip
		}
		at += n
	}
	last := e.parts[len(e.parts)-1]
	if last.max != endless && at < len(text) && isWord(text[at]) && isWord(text[at-1]) {
		return 0, skip
	}
	return at, 0
}

// longest is the longest text of the piece, or "".
func (p *piece) longest() string {
	if len(p.texts) == 0 {
		return ""
	}
	return p.texts[0]
}

// match returns how much of the beginning of text is the piece, or if it is less than the
// piece needs, minus that much and one.
func (p *piece) match(text string) int {
	for _, t := range p.texts {
		if strings.HasPrefix(text, t) {
			return len(t)
		}
	}
	if p.texts != nil {
		return -1
	}
	n := 0
	for n < len(text) && n < p.max && p.class[text[n]] {
		n++
	}
	if n < p.min {
		return -n - 1
	}
	return n
}

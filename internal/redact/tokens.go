package redact

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed tokens.txt
var tokensFile string

// kind is a line of tokens.txt.
type kind struct {
	id, expression string
	after          []string // the words of names that it is the value of
	entropy, gate  float64  // the least bits for each character
	source         string
}

// table is all patterns with the words that lead to them.
type table struct {
	patterns []*pattern
	lookup   lookup
}

// known are the patterns of the program. They are made when the first text is searched.
var known = sync.OnceValue(func() *table {
	kinds, err := readKinds(tokensFile)
	if err != nil {
		panic(err)
	}
	t := &table{patterns: shapes()}
	for _, k := range kinds {
		p, err := k.pattern()
		if err != nil {
			panic(err)
		}
		t.patterns = append(t.patterns, p)
	}
	for n, p := range t.patterns {
		for _, word := range p.words {
			t.lookup.add(word, n)
		}
	}
	return t
})

// readKinds reads the form of tokens.txt: id, expression, checks, source.
func readKinds(text string) (kinds []kind, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) != 4 {
			return nil, fmt.Errorf("tokens.txt:%d: %d columns, want 4", n, len(f))
		}
		k := kind{id: f[0], expression: f[1], source: f[3]}
		for check := range strings.SplitSeq(f[2], ";") {
			if err := k.add(check); err != nil {
				return nil, fmt.Errorf("tokens.txt:%d: %w", n, err)
			}
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

func (k *kind) add(check string) (err error) {
	name, value, _ := strings.Cut(check, "=")
	switch name {
	case "-":
	case "after":
		k.after = strings.Split(value, ",")
	case "entropy":
		k.entropy, err = strconv.ParseFloat(value, 64)
	case "gate":
		k.gate, err = strconv.ParseFloat(value, 64)
	default:
		err = fmt.Errorf("unknown check %q", check)
	}
	return err
}

func (k *kind) pattern() (*pattern, error) {
	e := sync.OnceValue(k.read)
	p := &pattern{rule: k.id, border: true}
	if word := leading(k.expression); word != "" {
		p.words = []string{word}
	} else if k.after == nil {
		if p.words = e().words(); e().anchor > 0 {
			p.start = e().start
		}
	}
	p.match = func(text string, word int) (int, int) {
		length, skip := e().match(text)
		if p.start != nil {
			word = 0 // it is not in front of what is secret
		}
		if length > 0 && k.regular(text[min(word, length):length], k.entropy) {
			return 0, length
		}
		return length, skip
	}
	if k.gate > 0 {
		p.harmless = func(match, _ string) bool { return k.regular(match[len(longestPrefix(match, p.words)):], k.gate) }
	}
	if k.after != nil {
		p.words, p.match, p.border = cases(k.after), k.value(e), false
	}
	if len(p.words) == 0 {
		return nil, fmt.Errorf("tokens.txt: %s: no text that places are found by", k.id)
	}
	return p, nil
}

// read reads the expression of a line, which is a part of the program.
func (k *kind) read() *expression {
	e, err := newExpression(k.expression)
	if err != nil {
		panic(fmt.Errorf("tokens.txt: %s: %w", k.id, err))
	}
	return e
}

// regular finds placeholders.
func (k *kind) regular(text string, bits float64) bool { return bits > 0 && entropy(text) < bits }

// longestPrefix returns the longest of the words that text begins with.
func longestPrefix(text string, words []string) (longest string) {
	for _, word := range words {
		if len(word) > len(longest) && strings.HasPrefix(text, word) {
			longest = word
		}
	}
	return longest
}

// cases are words as they are, capitalised and in upper case.
func cases(words []string) (all []string) {
	for _, word := range words {
		all = append(all, word, strings.ToUpper(word[:1])+word[1:], strings.ToUpper(word))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	// longestName is how much of a name may follow a word of it, and longestGap how
	// much between a name and its value.
	longestName = 24
	longestGap  = 12
)

// value matches a word, what sets a value apart from it, and the value: token=...,
// "secret": "...", Authorization: token ....
func (k *kind) value(e func() *expression) func(text string, word int) (int, int) {
	return func(text string, word int) (int, int) {
		end := word + min(longestName, run(text[word:min(len(text), word+longestName)], isDashed))
		apart := run(text[end:min(len(text), end+longestGap)], func(b byte) bool { return strings.IndexByte(" \t\"'=:>`(", b) >= 0 })
		for _, scheme := range []string{"token ", "Bearer ", "bearer "} {
			if strings.HasPrefix(text[end+apart:], scheme) {
				apart += len(scheme)
			}
		}
		start := end + apart
		length, _ := e().match(text[start:])
		if apart == 0 || length == 0 || k.regular(text[start:start+length], k.entropy) {
			return 0, word
		}
		return start + length, 0
	}
}

package prompt

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// directive is all that templates know; any other [[ is plain text.
var directive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[\[(shared|placeholder|include|include-optional):([^\]\n]+)\]\]`)
})

// maxFragments bounds how deep fragments may lie in one another.
const maxFragments = 8

type segmentKind int

const (
	literal         segmentKind = iota
	placeholder                 // a value
	include                     // a file below the session directory
	includeOptional             // the same, or nothing
)

// segment is one part of a template whose fragments are expanded.
type segment struct {
	kind segmentKind
	arg  string
}

// scan cuts text into segments. chain names the fragments around it.
func (p *prompt) scan(text string, chain []string) {
	end := 0
	for _, m := range directive().FindAllStringSubmatchIndex(text, -1) {
		p.literal(text[end:m[0]])
		p.directive(text[m[2]:m[3]], text[m[4]:m[5]], chain)
		end = m[1]
	}
	p.literal(text[end:])
}

func (p *prompt) literal(text string) {
	if text != "" {
		p.segments = append(p.segments, segment{literal, text})
	}
}

func (p *prompt) directive(name, arg string, chain []string) {
	switch name {
	case "shared":
		p.fragment(arg, chain)
	case "placeholder":
		if !slices.Contains(Placeholders(), arg) {
			p.errs = append(p.errs, unknownPlaceholder(arg))
			return
		}
		p.segments = append(p.segments, segment{placeholder, arg})
	case "include":
		p.segments = append(p.segments, segment{include, arg})
	case "include-optional":
		p.segments = append(p.segments, segment{includeOptional, arg})
	}
}

func (p *prompt) fragment(name string, chain []string) {
	way := append(slices.Clone(chain), name)
	switch {
	case slices.Contains(chain, name):
		p.fail("fragments include each other: %s", strings.Join(way, " -> "))
		return
	case len(way) > maxFragments:
		p.fail("fragments nested deeper than %d: %s", maxFragments, strings.Join(way, " -> "))
		return
	}
	mode := ".unattended.md"
	if p.Interactive {
		mode = ".interactive.md"
	}
	text, err := readText(p.builtin, "prompts/shared/"+name+mode)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = readText(p.builtin, "prompts/shared/"+name+".md")
	}
	if err != nil {
		p.fail("read fragment %q: %w", name, err)
		return
	}
	p.scan(strings.TrimRight(text, "\n"), way)
}

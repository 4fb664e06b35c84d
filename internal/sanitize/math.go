package sanitize

import (
	"strings"
)

// hiding are the commands of mathematics that show nothing of so many arguments: place
// holders, names, definitions, styles.
var hiding = map[string]int{
	"phantom": 1, "hphantom": 1, "vphantom": 1, "label": 1, "require": 1, "mathchoice": 4,
	"style": 2, "class": 1, "cssId": 1, "data": 1, "href": 1,
	"def": 2, "gdef": 2, "newcommand": 2, "renewcommand": 2, "providecommand": 2, "newenvironment": 3,
}

// mathCleaner is one pass over a text that removes what mathematics hides.
type mathCleaner struct {
	text   string
	out    strings.Builder
	report *Report
	blocks *blocks
	find   *finder
	closes int // where the dollar signs are that end the present formula, or 0
}

// cleanMath removes from prose the commands that hide their arguments, and comments within
// dollar signs. Code stays, but for that between dollar signs, which is mathematics.
func cleanMath(text string, report *Report) string {
	if strings.IndexByte(text, '\\') < 0 && strings.IndexByte(text, '$') < 0 {
		return text
	}
	c := &mathCleaner{text: text, report: report, blocks: newBlocks(text), find: newFinder(text)}
	c.out.Grow(len(text))
	for i := 0; i < len(text); {
		i = c.step(i)
	}
	return c.out.String()
}

func (c *mathCleaner) keep(from, to int) int {
	c.out.WriteString(c.text[from:to])
	return to
}

// step deals with what starts at i and returns where it ends.
func (c *mathCleaner) step(i int) int {
	if i == 0 || c.text[i-1] == '\n' {
		if end := c.blocks.line(i); end > 0 {
			return c.keep(i, end)
		}
	}
	switch c.text[i] {
	case '\\':
		return c.command(i)
	case '`':
		if end := c.blocks.quoted(i); end > 0 && !c.inDollars(i, end) {
			return c.keep(i, end)
		}
		return c.keep(i, i+runLength(c.text[i:]))
	case '$':
		return c.dollar(i)
	case '\n':
		return c.keep(i, i+1)
	}
	end := i + 1
	for end < len(c.text) && strings.IndexByte("\n\\`$", c.text[end]) < 0 {
		end++
	}
	return c.keep(i, end)
}

// inDollars reports whether code is mathematics.
func (c *mathCleaner) inDollars(from, to int) bool {
	return from > 0 && c.text[from-1] == '$' && to < len(c.text) && c.text[to] == '$'
}

// command deals with the backslash at i.
func (c *mathCleaner) command(i int) int {
	end := i + 1
	for end < len(c.text) && isLetter(c.text[end]) {
		end++
	}
	n, hides := hiding[c.text[i+1:end]]
	if !hides {
		return c.keep(i, min(i+2, len(c.text)))
	}
	after, found := end, strings.HasSuffix(c.text[i+1:end], "phantom")
	for range n {
		next, braces := c.argument(after)
		found = found || braces
		after = next
	}
	if !found { // a path, for instance
		return c.keep(i, end)
	}
	c.report.count(Math, 1)
	c.out.WriteString(removed)
	return after
}

// argument returns the end of the argument that starts at i: what is in braces, to the
// end of the paragraph if they are not closed, else one command or character.
func (c *mathCleaner) argument(i int) (end int, braces bool) {
	limit := c.find.start(i, "\n\n")
	for i < limit && strings.IndexByte(" \t\n*", c.text[i]) >= 0 {
		i++
	}
	for i < limit && c.text[i] == '[' { // how many arguments a new command has
		close := strings.IndexByte(c.text[i:limit], ']')
		if close < 0 {
			break
		}
		i += close + 1
	}
	switch {
	case i == limit:
		return i, false
	case c.text[i] == '{':
		return c.closing(i, limit), true
	case c.text[i] == '\\':
		end = i + 1
		for end < limit && isLetter(c.text[end]) {
			end++
		}
		return min(max(end, i+2), limit), false
	}
	end = i + 1
	for end < limit && c.text[end]&0xc0 == 0x80 {
		end++
	}
	return end, false
}

// closing returns the end of the braces that open at i.
func (c *mathCleaner) closing(i, limit int) int {
	depth := 0
	for at := i; at < limit; at++ {
		switch c.text[at] {
		case '\\':
			at++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return limit
}

// dollar deals with the dollar signs at i: a comment between them and the next ones goes.
func (c *mathCleaner) dollar(i int) int {
	marks := "$"
	if strings.HasPrefix(c.text[i:], "$$") {
		marks = "$$"
	}
	start := i + len(marks)
	if i > 0 && i == c.closes {
		return c.keep(i, start)
	}
	end := c.find.start(start, marks)
	if end == start || end == len(c.text) || len(marks) == 1 && (end > c.find.start(start, "\n\n") || !tight(c.text, start, end)) {
		return c.keep(i, start)
	}
	c.closes = end
	content := c.text[start:end]
	comment := commentIn(content)
	if comment < 0 {
		return c.keep(i, start)
	}
	c.keep(i, start+comment)
	c.report.count(Math, 1)
	c.out.WriteString(removed)
	return start + comment + len(lineAt(content, comment))
}

// tight reports whether the text between dollar signs touches both, as mathematics has to.
func tight(text string, from, to int) bool {
	space := func(at int) bool { return strings.IndexByte(" \t\n", text[at]) >= 0 }
	return !space(from) && !space(to-1) && (to+1 == len(text) || text[to+1] < '0' || text[to+1] > '9')
}

// commentIn returns where a comment of mathematics starts, or -1.
func commentIn(content string) int {
	for at := 0; at < len(content); at++ {
		switch content[at] {
		case '\\':
			at++
		case '%':
			return at
		}
	}
	return -1
}

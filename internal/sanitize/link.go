package sanitize

import (
	"strings"
)

const linkRemoved = "[link removed]"

// linkCleaner is one pass over a text that removes what Markdown's links hide.
type linkCleaner struct {
	text   string
	out    []byte
	report *Report
	blocks *blocks
	// open are the brackets that may start a link, innermost last.
	open []bracket
	// definitions maps labels to destinations; links by a label that has one
	// are links.
	definitions map[string]string
	// uses counts the places where a label is shown as a link.
	uses map[string]bool
	// noted are the footnotes of this pass: of two with one label the first is shown.
	noted map[string]bool
	find  *finder
}

// bracket is a "[" or "![".
type bracket struct {
	image bool
	in    int // after the bracket, in the text
	out   int // before the bracket and its "!", in the output
}

// cleanLinks removes images, the titles and hidden labels of links, definitions
// nothing uses, and links to anything but web pages and mail.
func cleanLinks(text string, report *Report) string {
	if strings.IndexByte(text, '[') < 0 && strings.IndexByte(text, '<') < 0 {
		return text
	}
	c := &linkCleaner{text: text, definitions: make(map[string]string), uses: make(map[string]bool)}
	// Twice only to learn: which labels there are, then which are used.
	c.pass(&Report{})
	c.pass(&Report{})
	c.pass(report)
	return string(c.out)
}

func (c *linkCleaner) pass(report *Report) {
	c.report, c.blocks, c.find = report, newBlocks(c.text), newFinder(c.text)
	c.out, c.open, c.noted = make([]byte, 0, len(c.text)), nil, make(map[string]bool)
	for i := 0; i < len(c.text); {
		i = c.step(i)
	}
}

// step deals with what starts at i and returns where it ends.
func (c *linkCleaner) step(i int) int {
	if i == 0 || c.text[i-1] == '\n' {
		if end := c.lineStart(i); end > i {
			return end
		}
	}
	switch b := c.text[i]; b {
	case '\\':
		return c.keep(i, min(i+2, len(c.text)))
	case '`':
		if end := c.blocks.quoted(i); end > 0 {
			return c.keep(i, end)
		}
		return c.keep(i, i+runLength(c.text[i:]))
	case '<':
		return c.angle(i)
	case '!':
		if strings.HasPrefix(c.text[i:], "![") {
			return c.push(i, i+2, true)
		}
	case '[':
		return c.push(i, i+1, false)
	case ']':
		return c.closeBracket(i)
	case '\n':
		return c.keep(i, i+1)
	}
	end := i + 1
	for end < len(c.text) && strings.IndexByte("\n\\`<![]", c.text[end]) < 0 {
		end++
	}
	return c.keep(i, end)
}

// lineStart deals with code and definitions at the start of a line.
func (c *linkCleaner) lineStart(i int) int {
	end := c.blocks.line(i)
	if end > 0 || c.blocks.blank {
		c.open = c.open[:0] // no link continues over a blank line or code
	}
	if end > 0 {
		return c.keep(i, end)
	}
	line := lineAt(c.text, i)
	start := i + len(line) - len(strings.TrimLeft(line, containerMarks))
	if d, ok := parseDefinition(c.text, start, c.find); ok {
		return c.define(i, start, d)
	}
	return i
}

func (c *linkCleaner) keep(from, to int) int {
	c.out = append(c.out, c.text[from:to]...)
	return to
}

func (c *linkCleaner) push(from, to int, image bool) int {
	c.open = append(c.open, bracket{image: image, in: to, out: len(c.out)})
	return c.keep(from, to)
}

// angle deals with the "<" at i: an automatic link or a tag.
func (c *linkCleaner) angle(i int) int {
	rest := c.text[i:]
	if n := autolink(rest); n > 0 {
		c.blocks.consumed(rest[:n])
		if isAllowed(rest[1:n-1]) || strings.Contains(rest[:n], "@") && schemeOf(rest[1:]) == "" {
			return c.keep(i, i+n)
		}
		c.report.count(Link, 1)
		c.out = append(c.out, linkRemoved...)
		return i + n
	}
	name := strings.TrimPrefix(rest[1:], "/")
	size := 0
	for size < len(name) && isAlnum(name[size]) {
		size++
	}
	c.blocks.element(strings.ToLower(name[:size]), len(name) < len(rest)-1)
	return c.keep(i, i+1)
}

// closeBracket deals with the "]" at i.
func (c *linkCleaner) closeBracket(i int) int {
	if len(c.open) == 0 {
		return c.keep(i, i+1)
	}
	b := c.open[len(c.open)-1]
	c.open = c.open[:len(c.open)-1]
	inside := c.text[b.in:i]
	if t, ok := parseTarget(c.text, i+1, c.find); ok {
		return c.link(b, i, t)
	}
	label, end := inside, i+1
	if next, ok := parseLabel(c.text, i+1); ok {
		end = next
		if named := c.text[i+2 : next-1]; strings.TrimSpace(named) != "" {
			label = named
		}
	}
	to, ok := c.definitions[normalize(label)]
	switch {
	case !ok:
		return c.keep(i, i+1)
	case b.image:
		return c.picture(b, end)
	case normalize(label) != normalize(inside):
		// The label is not shown: the link gets its target instead.
		return c.link(b, i, target{url: to, end: end, hidden: true})
	}
	c.uses[normalize(label)] = true
	return c.keep(i, end)
}

// link writes the rest of an inline link whose text ends at i.
func (c *linkCleaner) link(b bracket, i int, t target) int {
	shown := strings.TrimSpace(c.text[b.in:i]) != ""
	switch {
	case b.image:
		return c.picture(b, t.end)
	case !shown:
		c.out = append(c.out[:b.out], linkRemoved...)
	case !isAllowed(t.url):
		c.out = append(c.out, "] "+linkRemoved...)
	case t.hidden:
		c.out = append(c.out, "]("+t.url+")"...)
	default:
		return c.keep(i, t.end)
	}
	c.report.count(Link, 1)
	return t.end
}

func (c *linkCleaner) picture(b bracket, end int) int {
	c.report.count(Image, 1)
	c.out = append(c.out[:b.out], pictureRemoved...)
	return end
}

// define deals with the line from i on that has a definition at start.
func (c *linkCleaner) define(i, start int, d definition) int {
	label := normalize(d.label)
	if _, ok := c.definitions[label]; !ok {
		c.definitions[label] = d.target.url
	}
	shown := c.uses[label] && c.definitions[label] == d.target.url && d.label != "//"
	repeated := d.footnote && c.noted[label]
	c.noted[label] = c.noted[label] || d.footnote
	switch {
	case d.footnote && shown && !repeated:
		return c.keep(i, d.target.end)
	case !d.footnote && shown && isAllowed(d.target.url):
		if d.target.hidden {
			c.report.count(Link, 1)
		}
		c.keep(i, d.urlEnd)
		return d.target.end
	}
	c.report.count(Link, 1)
	c.keep(i, start)
	if d.footnote {
		return footnoteEnd(c.text, d.target.end)
	}
	return d.target.end
}

// isAllowed reports whether a link may lead to url.
func isAllowed(url string) bool {
	if strings.ContainsAny(url, " \t\n") || strings.Contains(url, "&colon;") {
		return false
	}
	switch strings.ToLower(schemeOf(url)) {
	case "", "http", "https", "mailto":
		return true
	}
	return false
}

// normalize makes equal labels equal strings.
func normalize(label string) string {
	return strings.ToLower(strings.Join(strings.Fields(label), " "))
}

package sanitize

import "strings"

const pictureRemoved = "[image removed]"

// htmlCleaner is one pass over a text that removes what HTML hides.
type htmlCleaner struct {
	text      string
	line      bool // the text is not Markdown: a tag is shown as it is
	out       strings.Builder
	report    *Report
	blocks    *blocks
	tags      tagReader
	find      *finder
	findLower *finder // in the text with ASCII letters in lower case
}

// finder finds marks in a text. To be linear it must be asked for each mark with
// places that never decrease.
type finder struct {
	text string
	next map[string]int // where a mark is next, or len(text)
}

func newFinder(text string) *finder { return &finder{text: text, next: make(map[string]int)} }

// start returns where the next mark at or after i starts, else the text's end.
func (f *finder) start(i int, mark string) int {
	at, ok := f.next[mark]
	if ok && at >= i {
		return at
	}
	at = len(f.text)
	if i < at {
		if n := strings.Index(f.text[i:], mark); n >= 0 {
			at = i + n
		}
	}
	f.next[mark] = at
	return at
}

// end returns where the next mark at or after i ends, else the text's end.
func (f *finder) end(i int, mark string) int {
	return min(f.start(i, mark)+len(mark), len(f.text))
}

// cleanHTML removes comments and the like and unknown, active or invisible
// elements from the prose of text. Code stays as it is, and in a line that is not
// Markdown a tag without attributes, too.
func cleanHTML(text string, line bool, report *Report) string {
	if strings.IndexByte(text, '<') < 0 {
		return text
	}
	c := &htmlCleaner{
		text: text, line: line, report: report,
		blocks: newBlocks(text), tags: tagReader{text: text},
		find: newFinder(text), findLower: newFinder(lowerASCII(text)),
	}
	c.out.Grow(len(text))
	for i := 0; i < len(text); {
		i = c.step(i)
	}
	return c.out.String()
}

// step deals with what starts at i and returns where it ends.
func (c *htmlCleaner) step(i int) int {
	if i == 0 || c.text[i-1] == '\n' {
		if end := c.blocks.line(i); end > 0 {
			return c.keep(i, end)
		}
	}
	switch c.text[i] {
	case '\\':
		if i+1 < len(c.text) && strings.IndexByte("`\\", c.text[i+1]) >= 0 {
			return c.keep(i, i+2)
		}
	case '`':
		if end := c.blocks.quoted(i); end > 0 {
			return c.keep(i, end)
		}
		return c.keep(i, i+runLength(c.text[i:]))
	case '<':
		return c.angle(i)
	case '\n':
		return c.keep(i, i+1)
	}
	end := i + 1
	for end < len(c.text) && strings.IndexByte("\n\\`<", c.text[end]) < 0 {
		end++
	}
	return c.keep(i, end)
}

func (c *htmlCleaner) keep(from, to int) int {
	c.out.WriteString(c.text[from:to])
	return to
}

// replace writes with in place of the part from..to.
func (c *htmlCleaner) replace(from, to int, class, with string) int {
	c.blocks.consumed(c.text[from:to])
	c.report.count(class, 1)
	c.out.WriteString(with)
	return to
}

// angle deals with the "<" at i.
func (c *htmlCleaner) angle(i int) int {
	rest := c.text[i:]
	if len(rest) < 2 {
		return c.keep(i, i+1)
	}
	if n := autolink(rest); n > 0 {
		c.blocks.consumed(rest[:n])
		return c.keep(i, i+n)
	}
	switch {
	case rest[1] == '!' || rest[1] == '?':
		return c.declaration(i)
	case isLetter(rest[1]), rest[1] == '/' && len(rest) > 2 && isLetter(rest[2]):
		return c.tag(i)
	case rest[1] == '/':
		// HTML takes it for a comment.
		if end := c.find.start(i, ">"); end < c.find.start(i, "\n") {
			return c.replace(i, end+1, Comment, removed)
		}
		if c.inBlock() {
			return c.replace(i, c.bogusEnd(i), Comment, removed)
		}
	}
	return c.keep(i, i+1)
}

// inBlock reports whether GitHub may take the present line for HTML as it is.
func (c *htmlCleaner) inBlock() bool {
	return c.blocks.html || c.blocks.lineHTML || c.blocks.raw != ""
}

// bogusEnd returns where what HTML takes for a comment ends: at ">" or with the block
// of HTML it is in.
func (c *htmlCleaner) bogusEnd(i int) int {
	end := c.find.end(i, ">")
	if c.blocks.raw != "" {
		return end
	}
	return min(end, c.find.start(i, "\n\n"))
}

// startsLine reports whether only marks of quotes and lists precede i.
func (c *htmlCleaner) startsLine(i int) bool {
	line := c.text[strings.LastIndexByte(c.text[:i], '\n')+1 : i]
	return strings.Trim(line, containerMarks) == ""
}

// declaration deals with comments and what a browser treats as such.
func (c *htmlCleaner) declaration(i int) int {
	rest := c.text[i:]
	inBlock := c.inBlock()
	c.blocks.lineHTML = true
	switch {
	case strings.HasPrefix(rest, "<!-->"), strings.HasPrefix(rest, "<!--->"):
		return c.replace(i, c.find.end(i, ">"), Comment, removed)
	case strings.HasPrefix(rest, "<!--"):
		after := i + len("<!--")
		return c.replace(i, min(c.find.end(after, "-->"), c.find.end(after, "--!>")), Comment, removed)
	case strings.HasPrefix(rest, "<![CDATA["):
		return c.until(i, "]]>")
	case rest[1] == '?':
		return c.until(i, "?>")
	}
	end, isName := c.find.end(i, ">"), len(rest) > 2 && isLetter(rest[2])
	switch {
	case end <= c.find.start(i, "\n\n"), isName && c.startsLine(i):
		// At the start of a line its block continues over blank lines.
		return c.replace(i, end, Comment, removed)
	case isName || inBlock:
		return c.replace(i, c.bogusEnd(i), Comment, removed)
	}
	return c.keep(i, i+1)
}

// until removes from i to the end of mark, else of ">", else of the text.
func (c *htmlCleaner) until(i int, mark string) int {
	if c.find.start(i, mark) == len(c.text) {
		mark = ">"
	}
	return c.replace(i, c.find.end(i, mark), Comment, removed)
}

// tag deals with the tag at i.
func (c *htmlCleaner) tag(i int) int {
	t, ok := c.tags.read(i, c.inBlock())
	if !ok {
		return c.keep(i, i+1)
	}
	end := i + t.size
	what := elements()[t.name]
	if what == unknown && isGeneric(c.text[i:end]) {
		return c.keep(i, i+1)
	}
	if c.line && t.attributes == "" {
		return c.keep(i, end)
	}
	c.blocks.element(t.name, t.end)
	switch what {
	case kept:
		if t.name == "pre" && !t.end && drawsAs(t.attributes) {
			if close := c.endTag(t.name, end); close > 0 {
				c.blocks.element(t.name, true)
				return c.replace(i, close, Diagram, diagram(c.text[end:close]))
			}
		}
		return c.bare(i, t)
	case pictured:
		return c.replace(i, end, Image, pictureRemoved)
	case emptied:
		if close := c.endTag(t.name, end); !t.end && close > 0 {
			c.blocks.element(t.name, true)
			return c.replace(i, close, Tag, "")
		}
		if t.name == "rp" && !t.end { // the next tag ends it
			return c.replace(i, min(c.find.start(end, "<"), c.find.start(end, "\n\n")), Tag, "")
		}
	}
	return c.replace(i, end, Tag, "")
}

// bare writes a tag without attributes.
func (c *htmlCleaner) bare(i int, t tag) int {
	end := i + t.size
	if t.attributes != "" {
		c.report.count(Attribute, 1)
	}
	c.blocks.consumed(c.text[i:end])
	c.out.WriteByte('<')
	if t.end {
		c.out.WriteByte('/')
	}
	c.out.WriteString(t.shown)
	c.out.WriteByte('>')
	return end
}

// endTag returns the end of the first end tag of an element after from, or 0.
func (c *htmlCleaner) endTag(name string, from int) int {
	mark := "</" + name
	for {
		from = c.findLower.end(from, mark)
		switch {
		case from == len(c.text):
			return 0
		case strings.IndexByte(" \t\n\f/>", c.text[from]) >= 0:
			return c.find.end(from, ">")
		}
	}
}

// autolink returns the length of the "<https://...>" or "<name@host>" at the
// start of text, or 0. "<std::string>" is not one.
func autolink(text string) int {
	end := 1
	for end < len(text) && text[end] > ' ' && text[end] != '<' && text[end] != '>' {
		end++
	}
	if end == len(text) || text[end] != '>' {
		return 0
	}
	inside := text[1:end]
	scheme := schemeOf(inside)
	isLink := len(scheme) >= 2 && !strings.HasPrefix(inside[len(scheme):], "::")
	name, host, _ := strings.Cut(inside, "@")
	isMail := name != "" && host != "" && strings.IndexByte(host, '@') < 0 && strings.IndexByte(inside, '/') < 0
	if isLink || isMail && !strings.ContainsAny(inside, `"'=`) {
		return end + 1
	}
	return 0
}

// schemeOf returns the scheme of a URL without the colon, or "".
func schemeOf(url string) string {
	const longest = 32
	for i := range min(len(url), longest+1) {
		switch b := url[i]; {
		case b == ':' && i > 0:
			return url[:i]
		case isLetter(b), i > 0 && (isAlnum(b) || strings.IndexByte("+.-", b) >= 0):
		default:
			return ""
		}
	}
	return ""
}

func lowerASCII(text string) string {
	out := []byte(text)
	for i, b := range out {
		if b >= 'A' && b <= 'Z' {
			out[i] = b | 0x20
		}
	}
	return string(out)
}

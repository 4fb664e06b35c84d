package sanitize

import "strings"

// blocks follows the lines of a Markdown text as far as is needed to know what
// GitHub surely shows as code. Where it is not sure it reports no code.
type blocks struct {
	text  string
	blank bool // the line before is blank or absent
	// html: a line of this paragraph may have started an HTML block, or quoted
	// code may continue over its lines. No quoted code until the next blank line.
	html bool
	// lineHTML is html for the rest of the line.
	lineHTML bool
	// raw is the element, like pre, whose HTML block continues over blank lines.
	raw string
	// inner: a fence may be open in a list whose content is that far to the
	// right; 0: none, unsure: perhaps in a list, perhaps nowhere.
	inner int
	// doubt: a fence may be open or not. No code is reported from here on.
	doubt bool

	// For the present line: the last place of each length of backtick runs.
	runs    map[int]int
	runsEnd int
}

func newBlocks(text string) *blocks {
	return &blocks{text: text, blank: true, runsEnd: -1}
}

// unsure is farther to the right than any line starts.
const unsure = 1 << 30

// containerMarks may precede the content of a line in quotes and lists.
const containerMarks = " \t>+-*.)0123456789"

// fence is what starts and ends fenced code.
type fence struct {
	mark  byte // 0: none
	count int
}

// line takes note of the line that starts at. If code surely starts there it
// returns the end of the code's last line, else 0.
func (b *blocks) line(at int) int {
	line := lineAt(b.text, at)
	afterBlank := b.blank
	b.lineHTML, b.blank = false, false
	content := strings.TrimLeft(line, " \t")
	if content == "" {
		b.blank, b.html = true, false
		return 0
	}
	body := strings.TrimLeft(line, containerMarks)
	if f := openingFence(body); f.mark != 0 {
		b.lineHTML = true // its backticks quote nothing
		if prefix := line[:len(line)-len(body)]; len(body) != len(content) {
			b.inner = containerIndent(prefix, afterBlank, b.inner)
			if b.inner == unsure || strings.Contains(prefix, "    ") || strings.Contains(prefix, "\t") {
				b.html = true // perhaps not a fence: text, and what it quotes continues
			}
			return 0
		}
		return b.openFence(at, f, afterBlank)
	}
	if body == line || body == content && b.inner != unsure && len(line)-len(body) < b.inner {
		b.inner = 0 // left of its content, so the list has ended
	}
	if name, ok := strings.CutPrefix(body, "<"); ok {
		name = strings.TrimPrefix(name, "/")
		b.html = b.html || name != "" && isLetter(name[0])
	}
	return 0
}

// openFence deals with a fence outside quotes that does not start a list item.
func (b *blocks) openFence(at int, f fence, afterBlank bool) int {
	line := lineAt(b.text, at)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	plain := len(indent) <= 3 && !strings.Contains(indent, "\t")
	switch {
	case indent == "" || b.inner != unsure && len(indent) < b.inner:
		b.inner = 0
	case b.inner != 0 && b.inner != unsure && !strings.Contains(indent, "\t"):
		// It is of the list, unless so far to the right a part of its text.
		b.html = b.html || len(indent) > b.inner+3
		return 0
	}
	if b.doubt || b.raw != "" || b.inner != 0 || !afterBlank && (b.html || !plain) {
		b.doubt, b.html = true, true
		return 0
	}
	end := b.closeFence(at+len(line), f, indent)
	if end == 0 {
		b.doubt = true
	}
	return end
}

// cleanInfo removes what follows the language of a code fence: GitHub shows
// none of it.
func cleanInfo(text string, report *Report) string {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return text
	}
	b := newBlocks(text)
	var out strings.Builder
	out.Grow(len(text))
	for at := 0; at < len(text); {
		line := lineAt(text, at)
		end := max(b.line(at), at+len(line))
		body := strings.TrimLeft(line, containerMarks)
		info := body[openingFence(body).count:]
		if word, more, _ := strings.Cut(strings.TrimSpace(info), " "); len(info) < len(body) && (more != "" || !isLanguage(word)) {
			if !isLanguage(word) {
				word = "text" // not nothing: that would close a fence
			}
			report.count(Attribute, 1)
			line = line[:len(line)-len(info)] + word
		}
		out.WriteString(line)
		at += len(lineAt(text, at))
		if end < len(text) {
			end++ // the line end
		}
		out.WriteString(text[at:end])
		at = end
	}
	return out.String()
}

// isLanguage reports whether word is the name of a language and nothing else, or empty.
func isLanguage(word string) bool {
	const longest = 20
	for i := range len(word) {
		if !isAlnum(word[i]) && strings.IndexByte("+-_#.", word[i]) < 0 {
			return false
		}
	}
	return len(word) <= longest
}

// containerIndent returns how far to the right the content is of what prefix
// starts: a list item, or quotes, which end with the first line without mark and
// so change nothing.
func containerIndent(prefix string, afterBlank bool, before int) int {
	if strings.Trim(prefix, " >") == "" {
		return before
	}
	mark := strings.Trim(prefix, " ")
	digits := strings.TrimRight(mark, ".)")
	bullet := mark == "-" || mark == "+" || mark == "*"
	// Only the number 1 starts a list within a paragraph.
	number := len(mark) == len(digits)+1 && len(digits) <= 9 && strings.Trim(digits, "0123456789") == "" &&
		(digits == "1" || afterBlank && digits != "")
	spaces := len(prefix) - len(strings.TrimRight(prefix, " "))
	if !bullet && !number || spaces < 1 || spaces > 4 {
		return unsure
	}
	return len(prefix)
}

// closeFence returns the end of the line that closes the fence, from the end of
// a line on, or 0. All lines must be indented as the first, so that it does not
// matter in which list the code is.
func (b *blocks) closeFence(at int, f fence, indent string) int {
	for at < len(b.text) {
		at++ // the line end
		line := lineAt(b.text, at)
		rest, ok := strings.CutPrefix(line, indent)
		if !ok && strings.TrimLeft(line, " \t") != "" {
			return 0
		}
		at += len(line)
		if ok && f.closedBy(rest) {
			return at
		}
	}
	return 0
}

func openingFence(line string) fence {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return fence{}
	}
	f := fence{mark: line[0], count: runLength(line)}
	if f.count < 3 || f.mark == '`' && strings.IndexByte(line[f.count:], '`') >= 0 {
		return fence{}
	}
	return f
}

func (f fence) closedBy(line string) bool {
	return line != "" && line[0] == f.mark && runLength(line) >= f.count &&
		strings.Trim(line[runLength(line):], " \t") == ""
}

// runLength returns how often text repeats its first byte at its start.
func runLength(text string) int {
	n := 1
	for n < len(text) && text[n] == text[0] {
		n++
	}
	return n
}

func lineAt(text string, at int) string {
	if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
		return text[at : at+end]
	}
	return text[at:]
}

// quoted returns the end of the quoted code that starts with the backtick at i,
// or 0 if that may not be code. It stays within one line.
func (b *blocks) quoted(i int) int {
	count := runLength(b.text[i:])
	if b.html || b.lineHTML || b.raw != "" {
		return 0
	}
	b.findRuns(i)
	if b.runs[count] <= i {
		b.html = true // it may continue in the next line
		return 0
	}
	for at := i + count; ; {
		at += strings.IndexByte(b.text[at:], '`')
		n := runLength(b.text[at:])
		at += n
		if n != count {
			continue
		}
		// A bar may end a cell of a table, and the code with it.
		if strings.IndexByte(b.text[i:at], '|') >= 0 {
			b.lineHTML = true
			return 0
		}
		return at
	}
}

// findRuns fills runs for the line of i.
func (b *blocks) findRuns(i int) {
	if i < b.runsEnd {
		return
	}
	line := lineAt(b.text, i)
	b.runs, b.runsEnd = make(map[int]int), i+len(line)
	for at := i; ; {
		next := strings.IndexByte(b.text[at:b.runsEnd], '`')
		if next < 0 {
			return
		}
		at += next
		n := runLength(b.text[at:])
		b.runs[n] = at
		at += n
	}
}

// consumed takes note of a part of the text that was taken for one thing. GitHub
// may take it for another, and a backtick in it for the start of code.
func (b *blocks) consumed(part string) {
	if strings.IndexByte(part, '`') >= 0 {
		b.html = true
	}
}

// element takes note of the start or end tag of an element.
func (b *blocks) element(name string, end bool) {
	switch name {
	case "pre", "script", "style", "textarea":
		b.raw = name
		if end {
			b.raw, b.lineHTML = "", true
		}
	}
}

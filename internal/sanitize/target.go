package sanitize

import "strings"

// target is where a link leads.
type target struct {
	url string
	end int // after it in the text
	// hidden: it has a title or another part that is not shown.
	hidden bool
}

// parseTarget reads "(url)" or "(url "title")" at i.
func parseTarget(text string, i int, find *finder) (target, bool) {
	if i >= len(text) || text[i] != '(' {
		return target{}, false
	}
	at := skipSpace(text, i+1)
	t := target{}
	if at < len(text) && text[at] != ')' {
		url, end := parseURL(text, at)
		if end == at {
			return target{}, false
		}
		t.url, at = url, end
	}
	after := skipSpace(text, at)
	if after > at {
		if end := parseTitle(text, after, find); end > 0 {
			t.hidden = true
			after = skipSpace(text, end)
		}
	}
	if after >= len(text) || text[after] != ')' {
		return target{}, false
	}
	t.end = after + 1
	return t, true
}

// parseURL reads a destination at i and returns it and where it ends.
func parseURL(text string, i int) (string, int) {
	if text[i] == '<' {
		for at := i + 1; at < len(text); at++ {
			switch text[at] {
			case '>':
				return text[i+1 : at], at + 1
			case '<', '\n':
				return "", i
			case '\\':
				at++
			}
		}
		return "", i
	}
	const deepest = 32
	depth, at := 0, i
scan:
	for at < len(text) {
		switch b := text[at]; {
		case b <= ' ', b == 0x7f:
			break scan
		case b == '\\' && at+1 < len(text) && text[at+1] > ' ':
			at++
		case b == '(':
			if depth++; depth > deepest {
				return "", i
			}
		case b == ')':
			if depth--; depth < 0 {
				break scan
			}
		}
		at++
	}
	return text[i:at], at
}

// parseTitle returns the end of the title at i, or 0.
func parseTitle(text string, i int, find *finder) int {
	if i >= len(text) {
		return 0
	}
	closing := text[i]
	switch closing {
	case '"', '\'':
	case '(':
		closing = ')'
	default:
		return 0
	}
	limit := find.start(i, "\n\n")
	for at := i + 1; at < limit; at++ {
		switch text[at] {
		case closing:
			return at + 1
		case '\\':
			at++
		case '(':
			if closing == ')' {
				return 0
			}
		}
	}
	return 0
}

// maxLabel is the longest label of a link.
const maxLabel = 999

// parseLabel returns the end of the "[label]" or "[]" at i.
func parseLabel(text string, i int) (int, bool) {
	if i >= len(text) || text[i] != '[' {
		return 0, false
	}
	for at := i + 1; at < min(len(text), i+maxLabel+2); at++ {
		switch text[at] {
		case ']':
			return at + 1, true
		case '[':
			return 0, false
		case '\\':
			at++
		}
	}
	return 0, false
}

// definition is "[label]: url 'title'" or a footnote "[^label]: text".
type definition struct {
	label    string
	footnote bool
	target   target // ends before the text of a footnote
	urlEnd   int    // where the part that may stay ends
}

// parseDefinition reads the definition that starts at i.
func parseDefinition(text string, i int, find *finder) (definition, bool) {
	end, ok := parseLabel(text, i)
	if !ok || end >= len(text) || text[end] != ':' {
		return definition{}, false
	}
	d := definition{label: strings.TrimSpace(text[i+1 : end-1])}
	if d.label == "" {
		return definition{}, false
	}
	if d.label[0] == '^' {
		d.footnote, d.target.end = true, end+1
		return d, true
	}
	at := skipSpace(text, end+1)
	if at >= len(text) || text[at] == '\n' {
		return definition{}, false
	}
	d.target.url, d.urlEnd = parseURL(text, at)
	if d.urlEnd == at {
		return definition{}, false
	}
	d.target.end = lineEnd(text, d.urlEnd)
	if title := skipSpace(text, d.urlEnd); title > d.urlEnd {
		if after := parseTitle(text, title, find); after > 0 && lineEnd(text, after) > 0 {
			d.target.end, d.target.hidden = lineEnd(text, after), true
		}
	}
	return d, d.target.end > 0
}

// footnoteEnd returns where the text of a footnote ends: at the next blank line
// that no indented line follows.
func footnoteEnd(text string, at int) int {
	for {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return len(text)
		}
		at += next
		if !blankAfter(text, at) {
			at++
			continue
		}
		after := at + 1
		for after < len(text) && text[after] == '\n' {
			after++
		}
		if !strings.HasPrefix(text[after:], "    ") {
			return at
		}
		at = after
	}
}

// lineEnd returns the end of the line if only spaces follow from i on, else 0.
func lineEnd(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	if i == len(text) || text[i] == '\n' {
		return i
	}
	return 0
}

// skipSpace skips spaces, tabs and at most one line end.
func skipSpace(text string, i int) int {
	lines := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t':
		case '\n':
			if lines++; lines > 1 {
				return i
			}
		default:
			return i
		}
	}
	return i
}

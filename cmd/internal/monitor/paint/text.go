package paint

import "strings"

// Clip cuts text to width columns; what was cut shows as "…".
func Clip(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width < 2 {
		return "…"[:max(0, min(width, 1))*len("…")]
	}
	return strings.TrimRight(cutAt(text, width-1), " ") + "…"
}

// cutAt returns as much of the beginning of text as fits into width columns, at
// least one character.
func cutAt(text string, width int) string {
	used := 0
	for i, r := range text {
		used += Width(string(r))
		if used > width && i > 0 {
			return text[:i]
		}
	}
	return text
}

// Wrap breaks text into at most limit lines of width columns, 0 for any number; a longer word continues
// in the next line.
func Wrap(text string, width, limit int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && Width(line)+1+Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line = word
		for Width(line) > width {
			head := cutAt(line, width)
			lines, line = append(lines, head), line[len(head):]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if limit > 0 && len(lines) > limit {
		lines = lines[:limit]
		lines[limit-1] = Clip(lines[limit-1]+" …", width)
	}
	return lines
}

// Pad fills text with blanks up to width columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

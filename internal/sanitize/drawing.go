package sanitize

import (
	"fmt"
	"slices"
	"strings"
)

// drawings are the languages of code fences that GitHub shows as a picture. What of the text
// is in the picture only its renderer knows: comments, properties and data are not.
var drawings = []string{"mermaid", "geojson", "topojson", "stl", "math"}

// isDrawing reports whether the info string of a fence names a drawing.
func isDrawing(info string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	return slices.Contains(drawings, strings.ToLower(word))
}

// drawsAs reports whether an attribute of a preformatted block names a drawing.
func drawsAs(attributes string) bool {
	attributes = strings.ToLower(attributes)
	return slices.ContainsFunc(drawings, func(name string) bool { return strings.Contains(attributes, name) })
}

func diagram(content string) string {
	lines := strings.Count(strings.Trim(content, "\n"), "\n") + 1
	if strings.Trim(content, "\n") == "" {
		lines = 0
	}
	return fmt.Sprintf("[diagram: %d lines]", lines)
}

// cleanDrawings puts a note in the place of each fence that GitHub shows as a picture, in
// lists and quotes, too. One without end continues to the end of the text.
func cleanDrawings(text string, report *Report) string {
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(drawings, func(name string) bool { return strings.Contains(lower, name) }) {
		return text
	}
	b := newBlocks(text)
	var out strings.Builder
	out.Grow(len(text))
	for at := 0; at < len(text); {
		line := lineAt(text, at)
		end := max(b.line(at), at+len(line))
		body := strings.TrimLeft(line, containerMarks)
		f := openingFence(body)
		if f.mark != 0 && isDrawing(body[f.count:]) {
			content, after := drawn(text, at+len(line), f)
			report.count(Diagram, 1)
			out.WriteString(line[:len(line)-len(body)] + diagram(content))
			b = newBlocks(text)
			b.blank = false
			end = after
		} else {
			out.WriteString(text[at:end])
		}
		if end < len(text) {
			out.WriteByte('\n')
			end++
		}
		at = end
	}
	return out.String()
}

// drawn is what is in the fence whose first line ends at, and the end of its last line.
func drawn(text string, at int, f fence) (content string, end int) {
	start := at
	for at < len(text) {
		at++ // the line end
		line := lineAt(text, at)
		if f.closedBy(strings.TrimLeft(line, " \t>")) {
			return text[start:at], at + len(line)
		}
		at += len(line)
	}
	return text[start:], len(text)
}

package sanitize

import (
	"regexp"
	"strings"
)

// delimiterRow is the line below the head of a table.
var delimiterRow = regexp.MustCompile(`^\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// cleanTables removes the cells of a table that are beyond its head: GitHub shows none of
// them.
func cleanTables(text string, report *Report) string {
	if strings.IndexByte(text, '|') < 0 {
		return text
	}
	b := newBlocks(text)
	var out strings.Builder
	out.Grow(len(text))
	head, columns := "", 0 // the line before; the columns of the table the line is in
	for at := 0; at < len(text); {
		line := lineAt(text, at)
		code := b.line(at)
		body := strings.TrimLeft(line, " \t>")
		switch {
		case code > 0 || body == "" || startsBlock(body):
			columns = 0
		case columns == 0 && strings.ContainsAny(body, "|:") && delimiterRow.MatchString(body):
			if n := len(cells(body)); n == len(cells(strings.TrimLeft(head, " \t>"))) || n == len(cells(strings.TrimLeft(head, containerMarks))) {
				columns = n
			}
		case columns > 0:
			if all := cells(body); len(all) > columns {
				report.count(Cell, len(all)-columns)
				line = line[:len(line)-len(body)] + body[:all[columns-1]]
			}
		}
		head = line
		end := max(code, at+len(lineAt(text, at)))
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

// startsBlock reports whether a line ends a table for something else: a heading or a fence.
func startsBlock(body string) bool {
	return openingFence(body).mark != 0 || strings.HasPrefix(strings.TrimLeft(body, "#"), " ") && body[0] == '#'
}

// cells returns where each cell of a row ends, with the bar behind it. A bar in code ends a
// cell, too; only a backslash keeps it.
func cells(row string) (ends []int) {
	row = strings.TrimRight(row, " \t")
	at := 0
	if strings.HasPrefix(row, "|") {
		at = 1
	}
	open := at < len(row)
	for ; at < len(row); at++ {
		switch row[at] {
		case '\\':
			at++
			open = true
		case '|':
			ends = append(ends, at+1)
			open = false
		default:
			open = true
		}
	}
	if open {
		ends = append(ends, len(row))
	}
	return ends
}

package demo

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// width is how many columns the output has at most.
const width = 80

// page writes lines of at most width columns. A longer one continues below its indentation.
type page struct {
	out  io.Writer
	rest []byte // of what was written: a line without its end
}

// Write takes the output of a program.
func (p *page) Write(data []byte) (int, error) {
	text := string(append(p.rest, data...))
	for {
		line, rest, whole := strings.Cut(text, "\n")
		if !whole {
			break
		}
		p.print(line)
		text = rest
	}
	p.rest = []byte(text)
	return len(data), nil
}

func (p *page) heading(text string) { p.print("\n== " + text + "\n") }

// print writes a text.
func (p *page) print(text string) { p.indented("", text) }

// indented writes a text with something before each of its lines.
func (p *page) indented(before, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range fold(line, width-len(before)) {
			fmt.Fprintln(p.out, strings.TrimRight(before+part, " "))
		}
	}
}

// columns is how wide a line is: a tab reaches to the next multiple of eight, and a symbol such as
// a check mark may take two columns.
func columns(line string) int {
	n := 0
	for _, r := range line {
		switch {
		case r == '\t':
			n += 8 - n%8
		case r > 0x2000:
			n += 2
		default:
			n++
		}
	}
	return n
}

// fold cuts a line into parts that are not wider than most, at blanks where it can.
func fold(line string, most int) (parts []string) {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if len(indent) > most/2 {
		indent = ""
	}
	for columns(line) > most {
		end, blank := 0, 0
		for i, r := range line {
			if columns(line[:i]+string(r)) > most {
				break
			}
			if end = i + utf8.RuneLen(r); r == ' ' && i > len(indent) {
				blank = i
			}
		}
		if blank > 0 {
			end = blank
		}
		parts = append(parts, line[:end])
		line = indent + strings.TrimLeft(line[end:], " ")
	}
	return append(parts, line)
}

var (
	marker  = regexp.MustCompile(`(?m)^<!-- agentmux .*-->\n?`)
	summary = regexp.MustCompile(`(?m)^<details><summary>(.*)</summary>\n?`)
	folded  = regexp.MustCompile(`(?m)^</details>\n?`)
)

// plain is a comment as a person reads it: without what GitHub does not show.
func plain(body string) string {
	body = marker.ReplaceAllString(body, "")
	body = summary.ReplaceAllString(body, "$1\n")
	return strings.TrimSpace(folded.ReplaceAllString(body, ""))
}

package monitor

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// piece is text in one ink.
type piece struct {
	text string
	ink  ink
}

// line is what one line shows: pieces from the left, and one at the right end that
// gives way last.
type line struct {
	left  []piece
	right piece
}

func plainLine(text string, i ink) line { return line{left: []piece{{text, i}}} }

// marked is a line that begins with a mark.
func marked(indent int, mark, text, right string) line {
	blank := strings.Repeat(" ", indent)
	return line{
		left:  []piece{{blank, inkPlain}, {mark, markInks[mark]}, {" " + text, textInk(mark)}},
		right: piece{right, inkFaint},
	}
}

func textInk(mark string) ink {
	if mark == MarkSkipped || mark == MarkPending {
		return inkFaint
	}
	return inkPlain
}

// fit lays the line out in width columns.
func (l line) fit(width int, p palette) string {
	right := clip(l.right.text, width*2/3)
	room := width
	if right != "" {
		room -= lipgloss.Width(right) + 1
	}
	var b strings.Builder
	used := 0
	for _, piece := range l.left {
		text := clip(piece.text, room-used)
		used += lipgloss.Width(text)
		b.WriteString(p.paint(text, piece.ink))
		if text != piece.text {
			break
		}
	}
	if right == "" {
		return b.String()
	}
	b.WriteString(strings.Repeat(" ", room-used+1))
	b.WriteString(p.paint(right, l.right.ink))
	return b.String()
}

// columns sets two columns of lines side by side.
func columns(left, right []line, width int, p palette) []string {
	half := (width - gutter) / 2
	var out []string
	for i := range max(len(left), len(right)) {
		l, r := "", ""
		if i < len(left) {
			l = left[i].fit(half, p)
		}
		if i < len(right) {
			r = right[i].fit(width-gutter-half, p)
		}
		if r != "" {
			l = pad(l, half+gutter)
		}
		out = append(out, l+r)
	}
	return out
}

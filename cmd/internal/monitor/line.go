package monitor

import (
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
)

// piece is text in one ink.
type piece struct {
	text string
	ink  paint.Ink
}

// line is what one line shows: pieces from the left, and one at the right end that
// is cut last.
type line struct {
	left  []piece
	right piece
}

func plainLine(text string, i paint.Ink) line { return line{left: []piece{{text, i}}} }

// marked is a line that begins with a mark.
func marked(indent int, mark, text, right string) line {
	blank := strings.Repeat(" ", indent)
	return line{
		left:  []piece{{blank, paint.Plain}, {mark, markInks[mark]}, {" " + text, textInk(mark)}},
		right: piece{right, paint.Faint},
	}
}

func textInk(mark string) paint.Ink {
	if mark == MarkSkipped || mark == MarkPending {
		return paint.Faint
	}
	return paint.Plain
}

// fit lays the line out in width columns.
func (l line) fit(width int, p paint.Palette) string {
	right := paint.Clip(l.right.text, width*2/3)
	room := width
	if right != "" {
		room -= paint.Width(right) + 1
	}
	var b strings.Builder
	used := 0
	for _, piece := range l.left {
		text := paint.Clip(piece.text, room-used)
		used += paint.Width(text)
		b.WriteString(p.Paint(text, piece.ink))
		if text != piece.text {
			break
		}
	}
	if right == "" {
		return b.String()
	}
	b.WriteString(strings.Repeat(" ", room-used+1))
	b.WriteString(p.Paint(right, l.right.ink))
	return b.String()
}

// columns sets two columns of lines side by side.
func columns(left, right []line, width int, p paint.Palette) []string {
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
			l = paint.Pad(l, half+gutter)
		}
		out = append(out, l+r)
	}
	return out
}

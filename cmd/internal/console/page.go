package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
)

// minColumns is the narrowest terminal that text is broken for.
const minColumns = 40

// Page writes rows and tables for a person: broken at the width of the terminal, in its
// colours. Anything else gets whole lines without colours; with NO_COLOR a terminal gets no
// colours either. Every text passes through shown.
type Page struct {
	w       io.Writer
	width   int // 0: lines are not broken
	palette paint.Palette
	shown   func(string) string
}

// Page returns a page on w, as wide as the terminal behind it.
func (c *Console) Page(w io.Writer) *Page {
	width := paint.Columns(Stream(w))
	if width > 0 {
		width = max(width, minColumns)
	}
	return &Page{w: w, width: width, palette: paint.New(Stream(w)), shown: c.Shown()}
}

// label is how wide the names of rows are.
const label = 11

// Row writes a name and its text. Further lines of the text are indented, so that they do not look
// like rows.
func (p *Page) Row(name string, ink paint.Ink, format string, args ...any) {
	text := p.shown(OneLine(fmt.Sprintf(format, args...)))
	lines := []string{text}
	if p.width > 0 {
		lines = paint.Wrap(text, p.width-label, 0)
	}
	for i, line := range lines {
		if i > 0 {
			name = ""
		}
		fmt.Fprintln(p.w, p.palette.Paint(paint.Pad(name, label), paint.Faint)+p.palette.Paint(line, ink))
	}
}

// Columns of what a check found: its mark, its name, and then the text.
const (
	markWidth = 6
	nameWidth = 14
)

// Finding writes what a check found: a mark, a name, and a text whose lines stay apart.
func (p *Page) Finding(mark Cell, name, text string) {
	var lines []string
	for line := range strings.Lines(p.shown(text)) {
		if line = strings.TrimRight(line, "\n"); p.width > 0 {
			lines = append(lines, paint.Wrap(line, p.width-markWidth-nameWidth, 0)...)
			continue
		}
		lines = append(lines, line)
	}
	for i, line := range lines {
		if i > 0 {
			mark, name = Cell{}, ""
		}
		head := p.palette.Paint(mark.text, mark.ink) + paint.Pad("", markWidth-len(mark.text)) + paint.Pad(name, nameWidth)
		fmt.Fprintln(p.w, head+line)
	}
}

// Cell is one field of a table.
type Cell struct {
	text string
	ink  paint.Ink
}

// NewCell is a text in a colour.
func NewCell(text string, ink paint.Ink) Cell { return Cell{text, ink} }

// PlainCell is a text without one.
func PlainCell(text string) Cell { return Cell{text, paint.Plain} }

// Table writes rows below a heading, with columns as wide as they must be. Where they do not
// fit, the widest become narrower and their texts continue in further lines.
func (p *Page) Table(heads []string, rows [][]Cell) {
	head := make([]Cell, len(heads))
	for i, text := range heads {
		head[i] = Cell{text, paint.Strong}
	}
	rows = append([][]Cell{head}, rows...)
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i := range row {
			row[i].text = p.shown(OneLine(row[i].text))
			widths[i] = max(widths[i], paint.Width(row[i].text))
		}
	}
	p.narrow(widths)
	for _, row := range rows {
		p.cells(row, widths)
	}
}

// between is the space between two columns, leastColumn how narrow one may become.
const (
	between     = 2
	leastColumn = 8
)

// narrow takes columns from the widest until the table fits.
func (p *Page) narrow(widths []int) {
	if p.width == 0 {
		return
	}
	sum := between * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	for ; sum > p.width; sum-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= leastColumn {
			return
		}
		widths[widest]--
	}
}

// cells writes one row of a table, over as many lines as its longest text needs.
func (p *Page) cells(row []Cell, widths []int) {
	texts, lines := make([][]string, len(row)), 1
	for i, c := range row {
		texts[i] = paint.Wrap(c.text, max(widths[i], 1), 0)
		lines = max(lines, len(texts[i]))
	}
	for n := range lines {
		var b strings.Builder
		for i, c := range row {
			text := ""
			if n < len(texts[i]) {
				text = texts[i][n]
			}
			b.WriteString(p.palette.Paint(text, c.ink))
			if i < len(row)-1 {
				b.WriteString(paint.Pad("", widths[i]+between-paint.Width(text)))
			}
		}
		fmt.Fprintln(p.w, strings.TrimRight(b.String(), " "))
	}
}

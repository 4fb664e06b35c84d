package monitor

import (
	"io"

	"github.com/charmbracelet/lipgloss"
)

// ink is what a piece of text means; a palette decides how it looks.
type ink int

const (
	inkPlain ink = iota
	inkStrong
	inkFaint
	inkGood
	inkBusy
	inkBad
	inkAsk
)

// palette paints text; the nil palette leaves it as it is.
type palette map[ink]lipgloss.Style

// newPalette returns the colours that out can show: none unless it is a terminal,
// none with NO_COLOR.
func newPalette(out io.Writer) palette {
	r := lipgloss.NewRenderer(out)
	style := func(color string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(color)) }
	return palette{
		inkStrong: r.NewStyle().Bold(true),
		inkFaint:  style("8"),
		inkGood:   style("2"),
		inkBusy:   style("6"),
		inkBad:    style("1"),
		inkAsk:    style("3").Bold(true),
	}
}

func (p palette) paint(text string, i ink) string {
	style, ok := p[i]
	if !ok || text == "" {
		return text
	}
	return style.Render(text)
}

// markInks are the inks of marks.
var markInks = map[string]ink{
	MarkCurrent: inkBusy, MarkDone: inkGood, MarkFailed: inkBad, MarkSkipped: inkFaint, MarkPending: inkFaint,
}

// Package paint decides how texts of the monitor look on a terminal.
//
// It is a package of its own so that it is initialised before bubbletea, which at its own
// initialisation asks the terminal for its background. Every command would do that, write
// the question on the screen, and wait five seconds on a terminal that does not answer.
// What paint says first keeps bubbletea from asking.
package paint

import (
	"io"
	"os"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/term"
)

// Packages whose imports are initialised follow in the order of their import paths, and
// ours comes before bubbletea's. A test holds it.
var _ = unasked()

func unasked() bool {
	lipgloss.SetHasDarkBackground(true) // no colour of ours depends on it
	return true
}

// Ink is what a piece of text means; a Palette decides how it looks.
type Ink int

// The inks.
const (
	Plain Ink = iota
	Strong
	Faint
	Good
	Busy
	Bad
	Ask
)

// Palette paints text; the nil palette leaves it as it is.
type Palette map[Ink]lipgloss.Style

// New returns the colours that out can show: none unless it is a terminal, none with
// NO_COLOR.
func New(out io.Writer) Palette {
	r := lipgloss.NewRenderer(out)
	style := func(color string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(color)) }
	return Palette{
		Strong: r.NewStyle().Bold(true),
		Faint:  style("8"),
		Good:   style("2"),
		Busy:   style("6"),
		Bad:    style("1"),
		Ask:    style("3").Bold(true),
	}
}

// Paint returns text in an ink.
func (p Palette) Paint(text string, i Ink) string {
	style, ok := p[i]
	if !ok || text == "" {
		return text
	}
	return style.Render(text)
}

// Width is how many cells of a terminal a text takes.
func Width(text string) int { return lipgloss.Width(text) }

// Terminal reports whether a stream is a terminal. The terminal's own request answers: other
// character devices, such as /dev/null, look like one to everything else.
func Terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// Columns returns how wide the terminal behind a stream is; 0 if it is not one.
func Columns(stream any) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return width
}

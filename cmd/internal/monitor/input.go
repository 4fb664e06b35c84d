package monitor

import (
	"strings"
	"unicode"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
	tea "github.com/charmbracelet/bubbletea"
)

// maxTyped bounds what one input takes, in characters.
const maxTyped = 4000

// input is an open one-line input, or a question answered by one key.
type input struct {
	label  string
	typed  []rune
	yesNo  bool
	commit func(text string) tea.Cmd
}

// lines shows the end of what was typed, where the cursor is.
func (in *input) lines(width int) []line {
	if in.yesNo {
		return []line{plainLine(in.label+" [y/N]", paint.Ask)}
	}
	text := string(in.typed)
	for paint.Width(text) > width-3 {
		text = string([]rune(text)[1:])
	}
	return []line{
		{left: []piece{{in.label, paint.Ask}}, right: piece{"enter sends, esc drops", paint.Faint}},
		plainLine("> "+text+"_", paint.Plain),
	}
}

// key takes a key; open is false when the input is finished.
func (in *input) key(msg tea.KeyMsg) (open bool, cmd tea.Cmd) {
	if in.yesNo {
		if msg.String() == "y" {
			return false, in.commit("")
		}
		return false, nil
	}
	switch msg.Type {
	case tea.KeyEsc, tea.KeyCtrlC:
		return false, nil
	case tea.KeyEnter:
		text := strings.TrimSpace(string(in.typed))
		if text == "" {
			return false, nil
		}
		return false, in.commit(text)
	case tea.KeyBackspace:
		in.typed = in.typed[:max(0, len(in.typed)-1)]
	case tea.KeyCtrlU:
		in.typed = nil
	case tea.KeyRunes, tea.KeySpace:
		in.add(msg.Runes)
	}
	return true, nil
}

// add takes typed or pasted characters; a paste of several lines becomes one.
func (in *input) add(runes []rune) {
	for _, r := range runes {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if unicode.IsPrint(r) && len(in.typed) < maxTyped {
			in.typed = append(in.typed, r)
		}
	}
}

package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agentmux/agentmux/internal/document"
)

// Menu is a dialog of the program that is put to a person: its answer may permit the agent to act.
type Menu struct {
	Text    string   `doc:"text,required"` // on the screen
	Choices []Choice `doc:"choices,required"`
}

// Choice is one answer to a Menu.
type Choice struct {
	Label string   `doc:"label,required"` // as the person is shown it
	Keys  []string `doc:"keys,required"`  // as tmux names them
}

// Labels are those of the choices.
func (m Menu) Labels() (labels []string) {
	for _, c := range m.Choices {
		labels = append(labels, c.Label)
	}
	return labels
}

// Keys returns what to press for a label, none for another text.
func (m Menu) Keys(label string) []string {
	i := slices.IndexFunc(m.Choices, func(c Choice) bool { return c.Label == label })
	if i < 0 {
		return nil
	}
	return m.Choices[i].Keys
}

// menuLines is how many lines of a screen a dialog may fill, from its text to the end.
const menuLines = 20

// Menu returns the known dialog that a screen shows, the lowest one, with all lines down to its choices: what a person
// decides by may be above its text, and what is below moves by itself. It is false if the screen shows none, or below it a
// program that is at work or waits for an input. A dialog may quote what such a program shows: where its end is known, its
// own words tell nothing.
func (p Provider) Menu(screen string) (m Menu, shown string, ok bool) {
	lines := LastLines(screen, len(screen))
	if len(p.Dialogs) == 0 {
		return Menu{}, "", false
	}
	from := max(0, len(lines)-menuLines) - 1
	for _, known := range p.Dialogs {
		for i := len(lines) - 1; i > from; i-- {
			if strings.Contains(plain(strings.Join(lines[i:], "\n")), plain(known.Text)) {
				m, from, ok = known, i, true
			}
		}
	}
	if !ok {
		return Menu{}, "", false
	}
	end, whole := m.end(lines, from)
	below := lines
	if whole {
		below = lines[end:]
	}
	if p.Screen(strings.Join(below, "\n")) != "" {
		return Menu{}, "", false
	}
	return m, strings.Join(lines[:end], "\n"), true
}

// end returns where the lines of a dialog end whose text begins at from: behind its last choice, if the screen names all of
// them as the person is shown them, which whole reports.
func (m Menu) end(lines []string, from int) (end int, whole bool) {
	for _, label := range m.Labels() {
		i := len(lines) - 1
		for i >= from && !strings.Contains(" "+strings.ToLower(plain(lines[i]))+" ", " "+strings.ToLower(plain(label))+" ") {
			i--
		}
		if i < from {
			return len(lines), false
		}
		end = max(end, i+1)
	}
	return end, true
}

// LastLines returns the last n lines of a screen with text: a dead pane shows empty lines, and below them a note of tmux.
func LastLines(text string, n int) []string {
	var words []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n"); line != "" && !strings.HasPrefix(line, "Pane is dead (") {
			words = append(words, line)
		}
	}
	return words[max(0, len(words)-n):]
}

// SameScreen compares what screens show, however their words are laid out. A mark that was moved to another choice makes a
// difference.
func SameScreen(a, b string) bool { return plain(a) == plain(b) }

// plain is a text with one blank for each run of white space and lines of boxes.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x2500 && r <= 0x257f }), " ")
}

// menuProblems returns what is wrong with the dialogs of a provider, by their keys.
func menuProblems(menus []Menu, say func(key, format string, args ...any)) {
	for i, m := range menus {
		at := fmt.Sprintf("dialogs[%d]", i)
		if plain(m.Text) == "" {
			say(at+".text", "required") // nothing but white space is on every screen
		}
		if m.Choices != nil && len(m.Choices) == 0 { // a missing list is told of where the file is read
			say(at+".choices", "required")
		}
		for j, c := range m.Choices {
			at := fmt.Sprintf("%s.choices[%d]", at, j)
			switch {
			case strings.TrimSpace(c.Label) == "" || strings.ContainsAny(c.Label, "\r\n"):
				say(at+".label", "%q: want a text of one line", document.Excerpt(c.Label))
			case slices.Contains(m.Labels()[:j], c.Label):
				say(at+".label", "%q is there twice", document.Excerpt(c.Label))
			}
			if len(c.Keys) == 0 {
				say(at+".keys", "required")
			}
			for k, key := range c.Keys {
				if !keyForm().MatchString(key) {
					say(fmt.Sprintf("%s.keys[%d]", at, k), "%q is not the name of one key, as Enter, Down or 1", document.Excerpt(key))
				}
			}
		}
	}
}

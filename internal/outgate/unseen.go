package outgate

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/sanitize"
)

// unseen names a text whose new lines hold characters that a reviewer does not see: with
// them a line does something else than it shows, or speaks to an agent alone.
func (c *check) unseen(p, base, content string) {
	if strings.Contains(content, "\x00") {
		return // not text
	}
	content = strings.TrimPrefix(content, "\ufeff") // a mark of the encoding
	var old map[string]bool
	first, count, shown := 0, 0, rune(0)
	number := 0
	for line := range strings.Lines(content) {
		number++
		if plain(line) {
			continue
		}
		r, found := sanitize.Unseen(line)
		if !found || r == utf8.RuneError {
			continue
		}
		if old == nil {
			old = unseenLines(base)
		}
		if old[strings.TrimRight(line, "\r\n")] {
			continue
		}
		if count++; count == 1 {
			first, shown = number, r
		}
	}
	if count == 0 {
		return
	}
	text := fmt.Sprintf("line %d holds the character U+%04X, which is not seen", first, shown)
	if count > 1 {
		text += fmt.Sprintf("; so do %d more", count-1)
	}
	c.name(Note{"unseen", p, text})
}

func unseenLines(text string) map[string]bool {
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		if !plain(line) {
			lines[strings.TrimRight(line, "\r\n")] = true
		}
	}
	return lines
}

// plain reports whether line holds printable ASCII and white space alone, as nearly all do.
func plain(line string) bool {
	for i := range len(line) {
		if b := line[i]; b >= 0x7f || b < ' ' && (b < '\t' || b > '\r') {
			return false
		}
	}
	return true
}

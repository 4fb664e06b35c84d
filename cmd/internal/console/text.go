package console

import (
	"fmt"
	"strings"
)

// Counted returns a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Dash replaces an empty text by a dash.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// OneLine turns line ends and other white space into single blanks.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Words shows a command as it would be typed, without characters that control a terminal.
func Words(argv []string) string {
	quoted := make([]string, len(argv))
	for i, word := range argv {
		if quoted[i] = fmt.Sprintf("%q", word); quoted[i] == `"`+word+`"` && word != "" && !strings.ContainsAny(word, " \t*?;&|<>()'`$~#!") {
			quoted[i] = word
		}
	}
	return strings.Join(quoted, " ")
}

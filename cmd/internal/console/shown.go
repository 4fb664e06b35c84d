package console

import (
	"strings"
	"unicode"
)

// Shown returns a filter that makes text of agents and strangers fit for a terminal or a script.
// It removes secrets that this process knows, what looks like a secret, and characters that
// would control a terminal.
func (c *Console) Shown() func(string) string {
	return func(text string) string {
		return c.Redactor().Redact(strings.Map(Printable, text))
	}
}

// Printable turns other white space than line ends into blanks and drops what is invisible.
func Printable(r rune) rune {
	switch {
	case r == '\n' || unicode.IsPrint(r):
		return r
	case unicode.IsSpace(r):
		return ' '
	}
	return -1
}

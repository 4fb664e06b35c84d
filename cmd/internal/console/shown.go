package console

import (
	"strings"
	"unicode"
)

// Shown returns what makes text of agents and strangers fit for a terminal or a script: no
// secret that this process knows or that looks like one, and no character that would
// steer a terminal.
func (c *Console) Shown() func(string) string {
	return func(text string) string {
		return c.Redactor().Redact(strings.Map(Printable, text))
	}
}

// Printable turns other white space than line ends into blanks and drops what is not seen.
func Printable(r rune) rune {
	switch {
	case r == '\n' || unicode.IsPrint(r):
		return r
	case unicode.IsSpace(r):
		return ' '
	}
	return -1
}

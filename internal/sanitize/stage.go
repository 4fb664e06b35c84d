package sanitize

import "strings"

// Raw is a text as somebody outside wrote it. It is a type of its own so that it does not
// compile where a text is expected that may be shown: a function that takes Raw cleans it,
// compares it, or looks for something in it.
type Raw string

// Clean is the visible part of a Raw text. Only Sanitize, Source, Line and Cut return one, and
// UnmarshalText, which reads back what one of them returned.
type Clean struct{ text string }

// String returns the text.
func (c Clean) String() string { return c.text }

// TrimSpace returns c without the white space around it.
func (c Clean) TrimSpace() Clean { return Clean{strings.TrimSpace(c.text)} }

// MarshalText stores the text as it is.
func (c Clean) MarshalText() ([]byte, error) { return []byte(c.text), nil }

// UnmarshalText reads a text that was clean when it was stored. It does not clean it again.
func (c *Clean) UnmarshalText(text []byte) error {
	c.text = string(text)
	return nil
}

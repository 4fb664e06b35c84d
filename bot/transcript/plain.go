package transcript

import (
	"io"
	"unicode/utf8"
)

// plainText passes on what a terminal is sent without what steers it: in a record of it a
// secret whose characters are painted one by one is found, and whoever prints the record
// does not let an agent speak to their terminal. A move of the cursor becomes the white
// space it shows as. A sequence or character that comes in pieces is waited for.
type plainText struct {
	out   io.Writer
	state int
	rest  []byte // of a character that is not complete yet
	last  byte   // passed on
	home  bool   // the cursor went back to the start of the line
}

// The states of plainText, by what came last.
const (
	stateText    = iota
	stateEscape  // ESC
	stateCharset // ESC and an intermediate character: one more ends it
	stateControl // CSI
	stateString  // OSC, DCS, SOS, PM or APC
)

const (
	charBell   = 0x07
	charCancel = 0x18
	charSub    = 0x1a
	charEscape = 0x1b
	charDelete = 0x7f
)

// Write takes all of p, or returns the error of the writer below.
func (w *plainText) Write(p []byte) (int, error) {
	data := append(w.rest, p...)
	w.rest = nil
	var text []byte
	for len(data) > 0 {
		if !utf8.FullRune(data) {
			w.rest = append([]byte(nil), data...)
			break
		}
		r, size := utf8.DecodeRune(data)
		data = data[size:]
		c := w.take(r)
		if c == 0 || c == utf8.RuneError && size == 1 {
			continue
		}
		if w.home && c != '\n' && w.space('\n') != 0 {
			text = append(text, '\n')
		}
		text = utf8.AppendRune(text, c)
		w.home, w.last = false, text[len(text)-1]
	}
	if len(text) == 0 {
		return len(p), nil
	}
	if _, err := w.out.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// take returns what stands for a character, 0 for nothing.
func (w *plainText) take(r rune) rune {
	switch {
	case r == charEscape:
		w.state = stateEscape
		return 0
	case r == charCancel || r == charSub:
		w.state = stateText
		return 0
	}
	switch w.state {
	case stateEscape:
		return w.escape(r)
	case stateCharset:
		if r >= 0x30 {
			w.state = stateText
		}
		return 0
	case stateControl:
		if r >= 0x40 {
			w.state = stateText
			return w.moved(r)
		}
		return 0
	case stateString:
		// The end of a line ends it, too: what follows an open one is not to be lost.
		if r == charBell || r == 0x9c || r == '\n' {
			w.state = stateText
		}
		return 0
	}
	return w.text(r)
}

func (w *plainText) escape(r rune) rune {
	w.state = stateText
	switch {
	case r == '[':
		w.state = stateControl
	case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
		w.state = stateString
	case r >= 0x20 && r < 0x30:
		w.state = stateCharset
	case r == 'D' || r == 'E' || r == 'M':
		return w.space('\n')
	}
	return 0
}

// text is a character that belongs to no sequence.
func (w *plainText) text(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r':
		w.home = true
	case r == 0x9b:
		w.state = stateControl
	case r == 0x90 || r == 0x98 || r >= 0x9d && r <= 0x9f:
		w.state = stateString
	case r >= 0x20 && r < charDelete || r >= 0xa0:
		return r
	}
	return 0
}

// moved is the white space that a control sequence makes, by its last character.
func (w *plainText) moved(final rune) rune {
	switch final {
	case 'A', 'B', 'E', 'F', 'H', 'd', 'f':
		return w.space('\n')
	case 'C', 'G', '`', 'a':
		return w.space(' ')
	}
	return 0
}

// space is white space where none is yet.
func (w *plainText) space(c rune) rune {
	if w.last == '\n' || w.last == byte(c) || w.last == 0 {
		return 0
	}
	return c
}

package transcript

import (
	"io"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
)

// plainText passes on the text of what a terminal is sent, without control sequences. So a
// secret whose characters are coloured one by one is found in the transcript, and a person who
// prints a transcript does not let an agent control the terminal. A move of the cursor becomes
// white space. An incomplete sequence or character waits for the rest.
type plainText struct {
	out    io.Writer
	parser *ansi.Parser // of ASCII and control characters
	shown  rune         // the text for what the parser took last
	rest   []byte       // of a character that is not complete yet
	last   byte         // the last byte that was passed on
	home   bool         // the cursor went back to the start of the line
}

// Write takes all of p, or returns the error of the writer below.
func (w *plainText) Write(p []byte) (int, error) {
	data := append(w.rest, p...)
	w.rest = nil
	var text []byte
	for len(data) > 0 {
		if n := w.shownAsIs(data); n > 0 {
			text = append(text, data[:n]...)
			data, w.last = data[n:], data[n-1]
			continue
		}
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

// shownAsIs returns how many bytes at the start of data need no parser: lines of ASCII outside of
// a sequence, which is most of what a CLI prints.
func (w *plainText) shownAsIs(data []byte) int {
	if w.home || w.parser != nil && w.parser.State() != parser.GroundState {
		return 0
	}
	for i, b := range data {
		if (b < ' ' || b > '~') && b != '\n' && b != '\t' {
			return i
		}
	}
	return len(data)
}

// take returns the text for a character, 0 for none. The parser gets only ASCII and control
// characters: it would take others for the start of a sequence of bytes.
func (w *plainText) take(r rune) rune {
	if w.parser == nil {
		w.parser = w.newParser()
	}
	state := w.parser.State()
	within := state >= parser.DcsEntryState && state <= parser.DcsStringState || state >= parser.OscStringState // a string
	switch {
	case r >= firstShown && state == parser.GroundState:
		return r
	case r >= firstShown && within:
		return 0
	case r >= firstShown, within && (r == ansi.BEL || r == ansi.ESC || r == '\n'):
		// The end of a line ends a string, too: text behind an open string must not be lost.
		w.parser.Advance(ansi.CAN)
		if r != ansi.ESC {
			return 0
		}
	}
	w.shown = 0
	w.parser.Advance(byte(r))
	return w.shown
}

// firstShown is the first character that is neither ASCII nor a control.
const firstShown = 0xa0

func (w *plainText) newParser() *ansi.Parser {
	p := ansi.NewParser()
	p.SetDataSize(1) // strings are not shown
	p.SetHandler(ansi.Handler{
		Print: func(r rune) { w.shown = r },
		Execute: func(b byte) {
			switch b {
			case '\n', '\t':
				w.shown = rune(b)
			case '\r':
				w.home = true
			}
		},
		HandleEsc: func(cmd ansi.Cmd) {
			if f := cmd.Final(); cmd.Intermediate() == 0 && (f == 'D' || f == 'E' || f == 'M') {
				w.shown = w.space('\n')
			}
		},
		HandleCsi: func(cmd ansi.Cmd, _ ansi.Params) { w.shown = w.moved(cmd.Final()) },
	})
	return p
}

// moved returns the white space for a control sequence, by its last character.
func (w *plainText) moved(final byte) rune {
	switch final {
	case 'A', 'B', 'E', 'F', 'H', 'd', 'f':
		return w.space('\n')
	case 'C', 'G', '`', 'a':
		return w.space(' ')
	}
	return 0
}

// space returns the white space c unless the text ends with white space.
func (w *plainText) space(c rune) rune {
	if w.last == '\n' || w.last == byte(c) || w.last == 0 {
		return 0
	}
	return c
}

package console

import (
	"bytes"
	"io"
	"regexp"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/agentmux/agentmux/cmd/internal/monitor/paint"
)

// A printer filters all text for a person, to a terminal or not: titles, descriptions,
// configuration, logs and errors hold words of strangers. It drops what would control a terminal
// and what is invisible. On a terminal the colours of package paint pass. What programs read
// goes to Raw of a Console instead.
type printer struct {
	w      io.Writer
	colors bool

	mu   sync.Mutex
	rest []byte // the beginning of a character or a colour whose end is still to come
}

func newPrinter(w io.Writer) *printer { return &printer{w: w, colors: paint.Terminal(w)} }

// color is what paint writes: ordinary colours but black, bold, and their end.
var color = regexp.MustCompile(`^\x1b\[(0|1|1;3[1-7]|3[1-7]|9[0-7]|1;9[0-7])?m`)

const longestColor = len("\x1b[1;97m")

// Write writes what of b may be shown. It reports all of b as written.
func (p *printer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := append(p.rest, b...)
	p.rest = nil
	out := bytes.NewBuffer(make([]byte, 0, len(text)))
	for len(text) > 0 {
		size := p.next(out, text)
		if size == 0 {
			p.rest = bytes.Clone(text)
			break
		}
		text = text[size:]
	}
	if out.Len() == 0 {
		return len(b), nil
	}
	if _, err := p.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// next copies the first character of text if it may be shown, and returns how much of text
// that took; 0 if its end is still to come.
func (p *printer) next(out *bytes.Buffer, text []byte) int {
	if p.colors && text[0] == 0x1b {
		if seq := color.Find(text); seq != nil {
			out.Write(seq)
			return len(seq)
		}
		if len(text) < longestColor && !bytes.ContainsFunc(text[1:], func(r rune) bool { return r != '[' && r != ';' && (r < '0' || r > '9') }) {
			return 0
		}
	}
	if !utf8.FullRune(text) {
		return 0
	}
	r, size := utf8.DecodeRune(text)
	if r == '\n' || r == '\t' || unicode.IsPrint(r) {
		out.Write(text[:size])
		if r == utf8.RuneError && size == 1 { // the byte alone may control a terminal
			out.Truncate(out.Len() - 1)
			out.WriteRune(utf8.RuneError)
		}
	} else if unicode.IsSpace(r) && r != '\r' && r != 0x85 {
		out.WriteByte(' ')
	}
	return size
}

// Stream is the stream behind a printer, which knows whether it is a terminal.
func Stream(w io.Writer) io.Writer {
	if p, ok := w.(*printer); ok {
		return p.w
	}
	return w
}

package signal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxStreamLine is the longest line of a stream that is parsed. Of a longer one only the
// length is shown.
const maxStreamLine = 8 << 20

// dialects are the formats of what headless programs write: each takes a line, shows it and emits
// what it tells. It reports whether the line is an event of its format.
var dialects = map[string]func(line []byte, v *view) bool{"claude": claudeLine, "codex": codexLine, "gemini": geminiLine, "opencode": opencodeLine}

// Streams are the names of the formats that Render knows.
func Streams() []string { return slices.Sorted(maps.Keys(dialects)) }

// Render shows the stream of a headless program for people and emits a signal for the end of
// its turn. It reads to the end of r in any case, so that the program never blocks on it. A
// format that is not known is shown as it is.
func Render(format string, r io.Reader, w io.Writer, emit func(Signal)) {
	in, v := bufio.NewReaderSize(r, 64<<10), &view{w: w, emit: emit}
	defer v.endLine()
	for {
		line, size, err := readLine(in)
		switch {
		case size > maxStreamLine:
			v.show("", fmt.Sprintf("[a line of %d bytes]", size))
		case len(line) > 0:
			if dialect := dialects[format]; dialect == nil || !dialect(line, v) {
				v.show("", string(line))
			}
		}
		if err != nil {
			return
		}
	}
}

// decode reads a line as an event. A field of another type than is known stays empty.
func decode(line []byte, event any) bool {
	var other *json.UnmarshalTypeError
	err := json.Unmarshal(line, event)
	return err == nil || errors.As(err, &other) && other.Field != ""
}

// readLine reads to the next line break and keeps at most maxStreamLine bytes.
func readLine(in *bufio.Reader) (line []byte, size int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		if len(line) < maxStreamLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err
		}
	}
}

// view is the terminal of those who watch, and who is told of signals.
type view struct {
	w    io.Writer
	emit func(Signal)
	open bool // the last line has no end yet
}

// result emits the end of a turn. text is why it failed, or empty.
func (v *view) result(event, session, text string, u *Usage) {
	v.emit(Signal{At: time.Now().UTC(), Event: event, Kind: KindResult, Session: session, Text: text, Usage: u})
}

// show prints text line by line, each behind mark.
func (v *view) show(mark, text string) {
	v.endLine()
	for line := range strings.Lines(strings.TrimSpace(text)) {
		fmt.Fprint(v.w, mark, clean(line), "\r\n")
	}
}

// part prints a piece of a text of which more follows.
func (v *view) part(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprint(v.w, clean(line))
		if v.open = !strings.HasSuffix(line, "\n"); !v.open {
			fmt.Fprint(v.w, "\r\n")
		}
	}
}

func (v *view) endLine() {
	if v.open {
		fmt.Fprint(v.w, "\r\n")
		v.open = false
	}
}

// call shows a tool that is used, answer what it returned.
func (v *view) call(name, input string) { v.show("> ", name+" "+shorten(input, 160)) }

func (v *view) answer(failed bool, text string) {
	mark := "< "
	if failed {
		mark = "! "
	}
	v.show(mark, shorten(text, 400))
}

// clean is a line without control characters: what a model writes must not control the terminal
// of the person who watches.
func clean(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, line)
}

func shorten(text string, limit int) string {
	r := []rune(text)
	if len(r) <= limit {
		return text
	}
	return string(r[:limit]) + " …"
}

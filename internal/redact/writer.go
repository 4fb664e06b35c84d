package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// writerContext is how much of the text already passed on a Writer looks at
	// again, to see what continues over lines.
	writerContext = 4 << 10
	// writerLine is the longest line a Writer waits for the end of.
	writerLine = 64 << 10
	// writerHold is what it keeps back of a line that is longer.
	writerHold = 4 << 10
)

// errClosed is returned by a Writer after Close.
var errClosed = errors.New("redacting writer is closed")

// Writer returns a writer that passes on to w what is written to it, redacted.
// It holds back the last line until it ends, so a value that comes in pieces is
// never let through; Close passes on what is held back and does not close w.
// Of a value spread over lines, less than 12 characters, or 24 of a long value in
// another encoding, may have passed when it is recognised. Not safe for concurrent use.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{redactor: r, out: w}
}

type writer struct {
	redactor *Redactor
	out      io.Writer
	text     []byte // the input that is not forgotten yet
	passed   int    // how much of text is done
	closed   bool
}

// Write takes all of p, or returns the error of the writer below.
func (w *writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errClosed
	}
	w.text = append(w.text, p...)
	if err := w.pass(w.ready()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close passes on what is left.
func (w *writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return w.pass(len(w.text))
}

// ready returns how much of the text may be passed on.
func (w *writer) ready() int {
	waiting := w.text[w.passed:]
	if end := bytes.LastIndexByte(waiting, '\n'); end >= 0 {
		return w.passed + end + 1
	}
	if len(waiting) > writerLine {
		return len(w.text) - writerHold
	}
	return w.passed
}

// pass passes on the text up to end, and to the end of a finding that starts
// before end.
func (w *writer) pass(end int) error {
	if end <= w.passed {
		return nil
	}
	text := string(w.text)
	var out strings.Builder
	at, keep := w.passed, max(0, end-writerContext)
	for _, f := range w.redactor.find(text) {
		if f.end <= at || f.start >= end {
			continue
		}
		out.WriteString(text[at:max(at, f.start)])
		out.WriteString(replacement(f.Rule))
		at = f.end
		// What follows may be the rest of it, seen only from its start.
		keep = min(keep, max(f.start, end-writerLine))
	}
	out.WriteString(text[at:max(at, end)])
	at = max(at, end)
	w.text = append(w.text[:0], w.text[keep:]...)
	w.passed = at - keep
	if _, err := io.WriteString(w.out, out.String()); err != nil {
		return fmt.Errorf("write redacted text: %w", err)
	}
	return nil
}

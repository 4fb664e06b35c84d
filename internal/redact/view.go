package redact

import (
	"bytes"
	"iter"
)

const (
	// pieceSize bounds the memory of a search: long text is searched in pieces.
	pieceSize = 256 << 10
	// pieceOverlap is how far twelve characters of a value may be spread by
	// encoding and separators and still be found wherever the pieces meet.
	pieceOverlap = 16 << 10
)

// view is a text as a person who decodes it would read it.
type view struct {
	text []byte
	// from and to are where the characters that gave each byte start and end in
	// the text the view was made of; nil when that is the place itself.
	from, to []int32
	// decoded says that the text was packed in digits, so that a stretch of it
	// that can be read was meant to be and may hide more.
	decoded bool
}

// span returns where the bytes from..to of the view come from.
func (v view) span(from, to int) (start, end int) {
	if v.from == nil {
		return from, to
	}
	return int(v.from[from]), int(v.to[to-1])
}

func (v *view) put(b byte, from, to int) {
	v.text = append(v.text, b)
	v.from = append(v.from, int32(from))
	v.to = append(v.to, int32(to))
}

// newView makes an empty view with room for n bytes.
func newView(n int) view {
	return view{text: make([]byte, 0, n), from: make([]int32, 0, n), to: make([]int32, 0, n)}
}

// putText puts a byte of decoded text. NUL is left out: half of the bytes of
// letters in UTF-16 are NUL.
func (v *view) putText(b byte, from, to int32) {
	if b != 0 {
		v.text = append(v.text, b)
		v.from = append(v.from, from)
		v.to = append(v.to, to)
	}
}

// leastRun is how long a stretch of decoded text must be to be searched like a
// text of its own. What is not text gives such a stretch once in millions of
// bytes; the base64 of 12 characters is as long.
const leastRun = 16

// runs yields the stretches of v that can be read.
func runs(v view) iter.Seq[view] {
	return func(yield func(view) bool) {
		start := 0
		for i := 0; i <= len(v.text); i++ {
			if i < len(v.text) && isText(v.text[i]) {
				continue
			}
			if i-start >= leastRun && !yield(view{text: v.text[start:i], from: v.from[start:i], to: v.to[start:i]}) {
				return
			}
			start = i + 1
		}
	}
}

func isText(b byte) bool {
	return b >= ' ' && b <= '~' || b == '\t' || b == '\n' || b == '\r'
}

// maxEscapes is how often text may be quoted in text that is quoted.
const maxEscapes = 4

// views yields the views of plain in which a value is looked for, without those in which a
// glance sees that there is none. A view is valid until the next one is asked for.
func views(plain view, glance func(text []byte) hints) iter.Seq[view] {
	return func(yield func(view) bool) {
		seen := glance(plain.text)
		if seen&hintPlain != 0 && !yield(plain) {
			return
		}
		for n := range maxEscapes {
			decoded, changed := unescape(plain)
			if !changed {
				break
			}
			// What looks like escapes may be separators: decoding would eat
			// characters of the value beside them.
			if n == 0 && seen&hintBare != 0 && !yield(stripped(plain)) {
				return
			}
			plain = decoded
			if seen = glance(plain.text); seen&hintPlain != 0 && !yield(plain) {
				return
			}
		}
		if seen&hintBare != 0 && !yield(stripped(plain)) {
			return
		}
		if text, changed := untagged(plain); changed && !yield(stripped(text)) {
			return
		}
		_ = yieldNumbers(plain, yield) && yieldPacked(plain, seen, yield)
	}
}

// packing is a way to write bytes in digits. What the digits mean depends on which of them is
// the first of a group.
type packing struct {
	hint   hints // of the first way; those of the others follow
	ways   int
	digits func(plain view, out *view)
	decode func(digits view, skip int, out view) view
}

// yieldPacked yields what plain gives when read as hex and as base64, wherever the first byte
// of those may start and a glance saw that there may be something.
func yieldPacked(plain view, seen hints, yield func(view) bool) bool {
	for _, p := range []packing{{hintHex, 2, hexDigits, unhex}, {hintBase64, 4, base64Digits, unbase64}} {
		if !p.yield(plain, seen/p.hint, yield) {
			return false
		}
	}
	return true
}

// yield yields the views of the ways that have a bit in seen.
func (p packing) yield(plain view, seen hints, yield func(view) bool) bool {
	if seen&(1<<p.ways-1) == 0 {
		return true
	}
	digits, out := newView(len(plain.text)), newView(len(plain.text))
	p.digits(plain, &digits)
	for skip := range p.ways {
		if seen>>skip&1 != 0 && !yield(p.decode(digits, skip, out)) {
			return false
		}
	}
	return true
}

// strip leaves the ASCII letters and digits of text.
func strip(text string) []byte {
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		if isAlnum(text[i]) {
			out = append(out, text[i])
		}
	}
	return out
}

// stripped is strip for a view.
func stripped(v view) view {
	out := newView(len(v.text))
	for i, b := range v.text {
		if isAlnum(b) {
			start, end := v.span(i, i+1)
			out.put(b, start, end)
		}
	}
	return out
}

// maxTag bounds the length of a tag, and with it the time that what only begins
// like one takes.
const maxTag = 256

// untagged leaves out the tags and comments of HTML, which a page does not show.
func untagged(v view) (out view, changed bool) {
	if bytes.IndexByte(v.text, '>') < 0 || bytes.IndexByte(v.text, '<') < 0 {
		return v, false
	}
	out = newView(len(v.text))
	for i := 0; i < len(v.text); i++ {
		if v.text[i] == '<' {
			if end := bytes.IndexByte(v.text[i:min(i+maxTag, len(v.text))], '>'); end > 1 {
				i, changed = i+end, true
				continue
			}
		}
		start, end := v.span(i, i+1)
		out.put(v.text[i], start, end)
	}
	return out, changed
}

func isAlnum(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// hexDigits puts the values of the hex digits of v into out, without "0x".
func hexDigits(v view, out *view) {
	for i, b := range v.text {
		if b == '0' && i+1 < len(v.text) && v.text[i+1]|0x20 == 'x' {
			continue
		}
		if n := hexValue(b); n >= 0 {
			start, end := v.span(i, i+1)
			out.put(byte(n), start, end)
		}
	}
}

// unhex decodes pairs of digits from the digit skip on, into the memory of out, an
// empty view.
func unhex(digits view, skip int, out view) view {
	out.decoded = true
	d := digits.text
	for i := skip; i+1 < len(d); i += 2 {
		out.putText(d[i]<<4|d[i+1], digits.from[i], digits.to[i+1])
	}
	return out
}

func hexValue(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}

// base64Digits puts the values of the base64 digits of v, of both alphabets,
// into out.
func base64Digits(v view, out *view) {
	for i, b := range v.text {
		n := base64Value(b)
		if n < 0 {
			continue
		}
		start, end := v.span(i, i+1)
		out.put(byte(n), start, end)
	}
}

func base64Value(b byte) int {
	switch {
	case b >= 'A' && b <= 'Z':
		return int(b - 'A')
	case b >= 'a' && b <= 'z':
		return int(b-'a') + 26
	case b >= '0' && b <= '9':
		return int(b-'0') + 52
	case b == '+' || b == '-':
		return 62
	case b == '/' || b == '_':
		return 63
	}
	return -1
}

// unbase64 decodes groups of four digits from the digit skip on, into the
// memory of out, an empty view.
func unbase64(digits view, skip int, out view) view {
	out.decoded = true
	d, from, to := digits.text, digits.from, digits.to
	for i := skip; i+1 < len(d); i += 4 {
		out.putText(d[i]<<2|d[i+1]>>4, from[i], to[i+1])
		if i+2 < len(d) {
			out.putText(d[i+1]<<4|d[i+2]>>2, from[i+1], to[i+2])
		}
		if i+3 < len(d) {
			out.putText(d[i+2]<<6|d[i+3], from[i+2], to[i+3])
		}
	}
	return out
}

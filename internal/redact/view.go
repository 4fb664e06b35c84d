package redact

import (
	"bytes"
	"iter"
	"unicode/utf8"
)

const (
	// pieceSize bounds the memory of a search: long text is searched in pieces.
	pieceSize = 256 << 10
	// pieceOverlap is how far twelve characters of a value may be spread by
	// encoding and separators and still be found wherever the pieces meet.
	pieceOverlap = 16 << 10
)

// view is a text as somebody who decodes it would read it.
type view struct {
	text []byte
	// from and to are where the characters that gave each byte start and end in
	// the text the view was made of; nil when that is the place itself.
	from, to []int32
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

// views yields the views of text in which a value is looked for. A view is
// valid until the next one is asked for.
func views(text string) iter.Seq[view] {
	return func(yield func(view) bool) {
		plain := view{text: []byte(text)}
		if !yield(plain) {
			return
		}
		// Twice, for text that was quoted in a text that is quoted.
		for n := range 2 {
			decoded, changed := unescape(plain)
			if !changed {
				break
			}
			// What looks like escapes may be separators: decoding would eat
			// characters of the value beside them.
			if n == 0 && !yield(stripped(plain)) {
				return
			}
			plain = decoded
			if !yield(plain) {
				return
			}
		}
		if !yield(stripped(plain)) {
			return
		}
		_ = yieldPacked(plain, yield)
	}
}

// yieldPacked yields what plain gives when read as hex and as base64, wherever
// the first byte of those may start.
func yieldPacked(plain view, yield func(view) bool) bool {
	digits, out := newView(len(plain.text)/4), newView(len(plain.text))
	hexDigits(plain, &digits)
	for skip := range 2 {
		if !yield(unhex(digits, skip, out)) {
			return false
		}
	}
	sextets := newView(len(plain.text))
	base64Digits(plain, &sextets)
	for skip := range 4 {
		if !yield(unbase64(sextets, skip, out)) {
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
	d := digits.text
	for i := skip; i+1 < len(d); i += 2 {
		out.put(d[i]<<4|d[i+1], int(digits.from[i]), int(digits.to[i+1]))
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
	d, from, to := digits.text, digits.from, digits.to
	for i := skip; i+1 < len(d); i += 4 {
		out.put(d[i]<<2|d[i+1]>>4, int(from[i]), int(to[i+1]))
		if i+2 < len(d) {
			out.put(d[i+1]<<4|d[i+2]>>2, int(from[i+1]), int(to[i+2]))
		}
		if i+3 < len(d) {
			out.put(d[i+2]<<6|d[i+3], int(from[i+2]), int(to[i+3]))
		}
	}
	return out
}

// unescape decodes the escapes of URLs, JSON, program text and HTML in v.
func unescape(v view) (decoded view, changed bool) {
	if !bytes.ContainsAny(v.text, `%\&`) {
		return v, false
	}
	out := newView(len(v.text))
	for i := 0; i < len(v.text); {
		r, n := escaped(v.text[i:])
		if n == 0 {
			start, end := v.span(i, i+1)
			out.put(v.text[i], start, end)
			i++
			continue
		}
		changed = true
		start, end := v.span(i, i+n)
		var buf [utf8.UTFMax]byte
		size := utf8.EncodeRune(buf[:], r)
		if isByte := v.text[i] == '%' || v.text[i] == '\\' && v.text[i+1] != 'u'; isByte {
			buf[0], size = byte(r), 1
		}
		for _, b := range buf[:size] {
			out.put(b, start, end)
		}
		i += n
	}
	return out, changed
}

// escaped returns the character that the escape at the start of text stands for
// and the length of the escape, 0 if there is none.
func escaped(text []byte) (r rune, n int) {
	switch text[0] {
	case '%':
		return number(text, 1, 2, 16)
	case '\\':
		return backslash(text)
	case '&':
		return reference(text)
	}
	return 0, 0
}

func backslash(text []byte) (rune, int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch b := text[1]; b {
	case 'u':
		return number(text, 2, 4, 16)
	case 'x':
		return number(text, 2, 2, 16)
	case 'n', 'r', 't':
		return ' ', 2
	case '"', '\'', '/', '\\':
		return rune(b), 2
	}
	return number(text, 1, 3, 8)
}

// number reads count digits of a base from text[at:]. The length counts from
// the start of text.
func number(text []byte, at, count, base int) (rune, int) {
	if len(text) < at+count {
		return 0, 0
	}
	var r rune
	for _, b := range text[at : at+count] {
		digit := hexValue(b)
		if digit < 0 || digit >= base {
			return 0, 0
		}
		r = r*rune(base) + rune(digit)
	}
	return r, at + count
}

// maxReference is the length of the longest numeric reference that is decoded.
const maxReference = 12

// reference reads "&#65;", "&#x41;" and the "&amp;" that stands before such a one in text
// that was escaped twice.
func reference(text []byte) (rune, int) {
	if bytes.HasPrefix(text, []byte("&amp;")) {
		return '&', len("&amp;")
	}
	text = text[:min(len(text), maxReference)]
	if len(text) < 4 || text[1] != '#' {
		return 0, 0
	}
	at, base := 2, 10
	if text[2]|0x20 == 'x' {
		at, base = 3, 16
	}
	for i := at; i < len(text); i++ {
		if text[i] == ';' && i > at {
			r, n := number(text, at, i-at, base)
			if n == 0 || r < 0 || r > utf8.MaxRune {
				return 0, 0
			}
			return r, n + 1
		}
	}
	return 0, 0
}

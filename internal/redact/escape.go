package redact

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// unescape decodes the escapes of URLs, JSON, program text and HTML in v, and
// letters in the forms that Unicode has beside those of ASCII.
func unescape(v view) (decoded view, changed bool) {
	if !mayEscape(v.text) {
		return v, false
	}
	out := newView(len(v.text))
	for i := 0; i < len(v.text); {
		r, n, isByte := escaped(v.text[i:])
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
		if isByte {
			buf[0], size = byte(r), 1
		}
		for _, b := range buf[:size] {
			out.put(b, start, end)
		}
		i += n
	}
	return out, changed
}

// mayEscape reports whether text has a byte that starts an escape.
func mayEscape(text []byte) bool {
	for _, b := range []byte{'%', '\\', '&', 0xE2, 0xEF, 0xF0} {
		if bytes.IndexByte(text, b) >= 0 {
			return true
		}
	}
	return false
}

// escaped returns what the escape at the start of text means, a character or one
// byte, and the length of the escape, 0 without one.
func escaped(text []byte) (r rune, n int, isByte bool) {
	switch text[0] {
	case '%':
		if len(text) > 1 && text[1]|0x20 == 'u' {
			r, n = number(text, 2, 4, 16)
			return r, n, false
		}
		r, n = number(text, 1, 2, 16)
		return r, n, true
	case '\\':
		return backslash(text)
	case '&':
		r, n = reference(text)
		return r, n, false
	case 0xE2, 0xEF, 0xF0:
		r, n = otherForm(text)
		return r, n, false
	}
	return 0, 0, false
}

func backslash(text []byte) (r rune, n int, isByte bool) {
	if len(text) < 2 {
		return 0, 0, false
	}
	switch b := text[1]; b {
	case 'u', 'U', 'x', 'X':
		if len(text) > 2 && text[2] == '{' {
			r, n = closed(text, 3, 16, '}')
			return r, n, false
		}
		count := map[byte]int{'u': 4, 'U': 8, 'x': 2, 'X': 2}[b]
		r, n = number(text, 2, count, 16)
		return r, n, count == 2
	case 'n', 'r', 't':
		return ' ', 2, true
	case '"', '\'', '/', '\\':
		return rune(b), 2, true
	}
	// Style sheets write six hex digits, the first two of which would be NUL.
	if r, n = number(text, 1, 6, 16); n > 0 && text[1] == '0' && text[2] == '0' {
		return r, n, false
	}
	for count := 3; count > 1; count-- {
		if r, n = number(text, 1, count, 8); n > 0 {
			return r, n, true
		}
	}
	return 0, 0, false
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
	if r < 0 || r > utf8.MaxRune {
		return 0, 0
	}
	return r, at + count
}

// maxReference is the length of the longest reference that is decoded.
const maxReference = 12

// closed reads the digits of a base from text[at:] up to the byte end.
func closed(text []byte, at, base int, end byte) (rune, int) {
	text = text[:min(len(text), maxReference)]
	if at >= len(text) {
		return 0, 0
	}
	count := bytes.IndexByte(text[at:], end)
	if count <= 0 {
		return 0, 0
	}
	r, n := number(text, at, count, base)
	if n == 0 {
		return 0, 0
	}
	return r, n + 1
}

// reference reads "&#65;", "&#x41;" and names: those of characters that HTML
// does not allow as they are, of which "&amp;" may precede another
// reference in text that was escaped twice. Any other name is a space.
func reference(text []byte) (rune, int) {
	if len(text) > 3 && text[1] == '#' {
		if text[2]|0x20 == 'x' {
			return closed(text, 3, 16, ';')
		}
		return closed(text, 2, 10, ';')
	}
	n := 1
	for n < len(text) && n < maxReference && isAlnum(text[n]) {
		n++
	}
	if n == 1 || n == len(text) || text[n] != ';' {
		return 0, 0
	}
	switch string(text[1:n]) {
	case "amp":
		return '&', n + 1
	case "lt":
		return '<', n + 1
	case "gt":
		return '>', n + 1
	case "quot":
		return '"', n + 1
	}
	return ' ', n + 1
}

// Blocks of Unicode that repeat the letters and digits of ASCII. The letters
// that are missing among the mathematical ones are in another block.
const (
	firstFullWidth, lastFullWidth = 0xFF01, 0xFF5E
	firstMathLetter               = 0x1D400
	lastMathLetter                = 0x1D6A3
	firstMathDigit, lastMathDigit = 0x1D7CE, 0x1D7FF

	letterLike      = "ℂℊℋℌℍℎℐℑℒℓℕℙℚℛℜℝℤℨℬℭℯℰℱℳℴ"
	letterLikeASCII = "CgHHHhIILlNPQRRRZZBCeEFMo"
)

// otherForm reads a letter or digit of those blocks.
func otherForm(text []byte) (rune, int) {
	r, n := utf8.DecodeRune(text)
	switch {
	case r >= firstFullWidth && r <= lastFullWidth:
		return r - firstFullWidth + '!', n
	case r >= firstMathDigit && r <= lastMathDigit:
		return (r-firstMathDigit)%10 + '0', n
	case r >= firstMathLetter && r <= lastMathLetter:
		letter := (r - firstMathLetter) % 52
		if letter < 26 {
			return letter + 'A', n
		}
		return letter - 26 + 'a', n
	}
	if at := strings.IndexRune(letterLike, r); n > 1 && at >= 0 {
		return rune(letterLikeASCII[utf8.RuneCountInString(letterLike[:at])]), n
	}
	return 0, 0
}

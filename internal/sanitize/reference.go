package sanitize

import (
	"strings"
	"unicode"
)

// invisibleReferences are the named character references that show nothing or
// a space. The value takes their place.
func invisibleReferences() map[string]string {
	names := make(map[string]string)
	for name := range strings.FieldsSeq(`shy lrm rlm zwj zwnj ZeroWidthSpace NoBreak NegativeThinSpace NegativeMediumSpace
		NegativeThickSpace NegativeVeryThinSpace InvisibleComma ic InvisibleTimes it ApplyFunction af`) {
		names[name] = ""
	}
	for name := range strings.FieldsSeq(`nbsp NonBreakingSpace ensp emsp emsp13 emsp14 numsp puncsp thinsp ThinSpace hairsp
		VeryThinSpace MediumSpace ThickSpace`) {
		names[name] = " "
	}
	return names
}

// decodeReferences decodes numeric character references and removes the named
// ones that show nothing.
func decodeReferences(text string, report *Report) string {
	at := strings.IndexByte(text, '&')
	if at < 0 {
		return text
	}
	names := invisibleReferences()
	var out strings.Builder
	for ; at >= 0; at = strings.IndexByte(text, '&') {
		out.WriteString(text[:at])
		text = text[at:]
		if n := numeric(text, &out); n > 0 {
			report.count(Entity, 1)
			text = text[n:]
			continue
		}
		if with, n := named(text, names); n > 0 {
			report.count(Invisible, 1)
			out.WriteString(with)
			text = text[n:]
			continue
		}
		out.WriteByte('&')
		text = text[1:]
	}
	out.WriteString(text)
	return out.String()
}

// numeric writes the character of the numeric reference at the start of text and
// returns its length, 0 without one.
func numeric(text string, out *strings.Builder) int {
	r, n := parseNumeric(text)
	if n == 0 {
		return 0
	}
	// The character of one reference may start the next: "&#38;#38;#60;".
	for r == '&' {
		more, length := parseNumeric("&" + text[n:min(len(text), n+maxReference)])
		if length == 0 {
			break
		}
		r, n = more, n+length-1
	}
	switch {
	case strings.ContainsRune("`~\\", r):
		// On GitHub it would be that character and not start code or an escape.
		out.WriteByte('\\')
	case r == '\n' || r == '\t':
		r = ' '
	}
	out.WriteRune(r)
	return n
}

// maxReference is the length of the longest numeric reference that is decoded.
const maxReference = 32

// parseNumeric reads "&#65;", "&#x41;", and both without the semicolon.
func parseNumeric(text string) (rune, int) {
	if !strings.HasPrefix(text, "&#") {
		return 0, 0
	}
	at, base := 2, rune(10)
	if len(text) > 2 && text[2]|0x20 == 'x' {
		at, base = 3, 16
	}
	start, r := at, rune(0)
	for ; at < min(len(text), maxReference); at++ {
		digit := hexDigit(text[at])
		if digit < 0 || digit >= base {
			break
		}
		r = min(r*base+digit, unicode.MaxRune+1)
	}
	if at == start {
		return 0, 0
	}
	if at < len(text) && text[at] == ';' {
		at++
	}
	if r == 0 || r > unicode.MaxRune || r >= 0xd800 && r <= 0xdfff {
		r = unicode.ReplacementChar
	}
	return r, at
}

func hexDigit(b byte) rune {
	switch {
	case b >= '0' && b <= '9':
		return rune(b - '0')
	case b|0x20 >= 'a' && b|0x20 <= 'f':
		return rune(b|0x20-'a') + 10
	}
	return -1
}

// named looks up the named reference at the start of text.
func named(text string, names map[string]string) (with string, n int) {
	end := 1
	for end < min(len(text), maxReference) && isAlnum(text[end]) {
		end++
	}
	if end == len(text) || text[end] != ';' {
		return "", 0
	}
	with, ok := names[text[1:end]]
	if !ok {
		return "", 0
	}
	return with, end + 1
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
func isAlnum(b byte) bool  { return isLetter(b) || b >= '0' && b <= '9' }

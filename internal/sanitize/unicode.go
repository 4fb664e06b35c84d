package sanitize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NFC returns s in Unicode normalization form C.
func NFC(s string) string { return norm.NFC.String(s) }

// Fold returns s case-folded and in form C. Two paths with the same fold are one
// file on some file systems.
func Fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(s) // at once for the names that most files have
	}
	// A fold may end in something that composes and folds again.
	for range 3 {
		next := norm.NFC.String(strings.Map(cherokee, cases.Fold().String(norm.NFD.String(s))))
		if next == s {
			break
		}
		s = next
	}
	return s
}

// cherokee returns the capital of a small Cherokee letter. Unicode folds these to
// capitals; package cases swaps the two, and a second fold would undo the first.
func cherokee(r rune) rune {
	switch {
	case 0xAB70 <= r && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case 0x13F8 <= r && r <= 0x13FD:
		return r - 8
	}
	return r
}

// Forbidden reports whether r is never in sanitized text: controls other
// than tab and line feed, bidirectional and invisible characters, unusual
// spaces, private use, noncharacters.
func Forbidden(r rune) bool {
	return r > unicode.MaxRune || r < 0 || isSpace(r) || isRemoved(r)
}

// Unseen returns the first character of text that a reader does not see: a control other
// than white space, a bidirectional mark, a tag or another invisible character. Those that
// shape letters and emoji around them are seen, and so is private use, which fonts show.
func Unseen(text string) (r rune, found bool) {
	before := rune(0)
	for i, r := range text {
		white := r == '\r' || r == '\f' || r == '\v' || r == 0x85
		if isRemoved(r) && !white && !unicode.Is(unicode.Co, r) && !shapes(r, before, text[i:]) {
			return r, true
		}
		before = r
	}
	return 0, false
}

// maxMarks is how many combining marks may follow one character.
const maxMarks = 8

func span(lo, hi rune) unicode.Range32 {
	return unicode.Range32{Lo: uint32(lo), Hi: uint32(hi), Stride: 1}
}

// invisible are the characters that are removed beside the categories Cf, Co and
// the noncharacters.
var invisible = &unicode.RangeTable{R32: []unicode.Range32{
	span(0x00, 0x08), span(0x0b, 0x1f), span(0x7f, 0x9f), span(0xad, 0xad), span(0x34f, 0x34f),
	span(0x61c, 0x61c), span(0x115f, 0x1160), span(0x17b4, 0x17b5), span(0x180b, 0x180f),
	span(0x200b, 0x200f), span(0x202a, 0x202e), span(0x2060, 0x206f), span(0x2800, 0x2800),
	span(0x3164, 0x3164), span(0xfdd0, 0xfdef), span(0xfe00, 0xfe0f), span(0xfeff, 0xfeff),
	span(0xffa0, 0xffa0), span(0xfff9, 0xfffc), span(0x1bca0, 0x1bca3), span(0x1d173, 0x1d17a),
	span(0xe0000, 0xe0fff),
}}

func isRemoved(r rune) bool {
	if r < 0x7f {
		return r < ' ' && r != '\t' && r != '\n'
	}
	return unicode.Is(invisible, r) || r&0xfffe == 0xfffe || unicode.In(r, unicode.Cf, unicode.Co)
}

// isSpace reports whether r becomes a plain space.
func isSpace(r rune) bool {
	switch r {
	case 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

func isBidi(r rune) bool {
	switch r {
	case 0x61c, 0x200e, 0x200f:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// cleanCharacters removes or replaces the forbidden characters, brings the text
// into form C, and cuts heaps of combining marks.
func cleanCharacters(text string, report *Report) string {
	var out strings.Builder
	out.Grow(len(text))
	before := rune(0) // the last character that stays
	for i, r := range text {
		switch {
		case isSpace(r):
			r = ' '
		case isRemoved(r):
			countRemoved(r, before, text[i:], report)
			continue
		}
		out.WriteRune(r)
		before = r
	}
	// Before composing, since that puts a joiner into very long runs of marks,
	// and after, since some marks come apart.
	return cutMarks(norm.NFC.String(cutMarks(out.String(), report)), report)
}

func countRemoved(r, before rune, from string, report *Report) {
	switch {
	case isBidi(r):
		report.count(Bidi, 1)
	case !shapes(r, before, from):
		report.count(Invisible, 1)
	}
}

// shapes reports whether r only shapes the characters around it, as writers of
// some scripts and of emoji need it. from starts with r.
func shapes(r, before rune, from string) bool {
	const variant16, nonJoiner, joiner = 0xfe0f, 0x200c, 0x200d
	switch r {
	case variant16:
		return isEmoji(before)
	case nonJoiner, joiner:
		after, _ := utf8.DecodeRuneInString(from[len(string(r)):])
		return isEmoji(before) && isEmoji(after) || isJoining(before) && isJoining(after)
	}
	return false
}

// isEmoji covers the blocks of the characters of emoji sequences.
func isEmoji(r rune) bool {
	switch {
	case r >= 0x1f000 && r <= 0x1faff, r >= 0x2190 && r <= 0x2bff, r >= '0' && r <= '9':
		return true
	}
	return strings.ContainsRune("#*©®‼⁉™ℹ〰〽㊗㊙", r)
}

// isJoining reports whether r belongs to a script whose letters take different
// shapes beside each other.
func isJoining(r rune) bool {
	if r < 0x600 {
		return false
	}
	return unicode.In(r, unicode.L, unicode.M) && unicode.In(r,
		unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
		unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// cutMarks leaves at most maxMarks combining marks in a row.
func cutMarks(text string, report *Report) string {
	var out strings.Builder
	marks, done := 0, 0
	for i, r := range text {
		if r < 0x300 || !unicode.Is(unicode.M, r) {
			marks = 0
			continue
		}
		if marks++; marks > maxMarks {
			report.count(Invisible, 1)
			out.WriteString(text[done:i])
			done = i + len(string(r))
		}
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

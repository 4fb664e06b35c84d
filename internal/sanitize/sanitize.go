// Package sanitize takes out of text by strangers what a person reading it on
// GitHub does not see: HTML comments, attributes and elements, invisible and
// bidirectional characters, link titles, unused definitions, images, words behind
// the language of a code fence, the source of drawings, cells beyond a table's head,
// commands of mathematics that show nothing.
//
// A text comes in as Raw and leaves as Clean, which is still untrusted: a prompt marks it
// as data, and package ghsync/markdown makes it harmless on GitHub.
// Sanitize is pure, linear in the text, and idempotent; its result holds no
// Forbidden character. Where the rules of Markdown leave a doubt whether text is
// shown, it is taken out. The package owns the Unicode rules the other packages
// need (NFC, Fold, Forbidden) and stores nothing.
package sanitize

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxRounds is how often a text is cleaned until nothing changes any more. Each
// round takes off one layer that was wrapped around something else; no
// honest text has as many.
const maxRounds = 8

// suspiciousInvisible is how many invisible characters honest text may have.
const suspiciousInvisible = 64

// removed takes the place of what was hidden.
const removed = "[removed]"

// Classes of what is removed, keys of Report.Removed.
const (
	Comment   = "comment"
	Attribute = "attribute"
	Invisible = "invisible"
	Bidi      = "bidi"
	Entity    = "entity"
	Image     = "image"
	Link      = "link"
	Tag       = "tag"
	Diagram   = "diagram"
	Cell      = "cell"
	Math      = "math"
)

// Report says what Sanitize removed.
type Report struct {
	// Removed counts by class; a class that did not occur is missing.
	Removed map[string]int `json:"removed"`
	// CutBytes is what Cut left out, filled in by its caller.
	CutBytes int `json:"cut_bytes"`
	// Suspicious says that the text had more invisible characters than honest
	// text has.
	Suspicious bool `json:"suspicious,omitempty"`
	// Refused says that the text kept changing and nothing of it was taken.
	Refused bool `json:"refused,omitempty"`
}

// count notes n removals of a class.
func (r *Report) count(class string, n int) {
	if n == 0 {
		return
	}
	if r.Removed == nil {
		r.Removed = make(map[string]int)
	}
	r.Removed[class] += n
	r.Suspicious = r.Removed[Invisible] > suspiciousInvisible
}

// Add joins the report on another text to this one.
func (r *Report) Add(other Report) {
	for class, n := range other.Removed {
		r.count(class, n)
	}
	r.CutBytes += other.CutBytes
	r.Suspicious = r.Suspicious || other.Suspicious
	r.Refused = r.Refused || other.Refused
}

// Sanitize returns the visible part of a Markdown text and what was removed. A
// text that hides things in each other too deeply becomes "[removed]" as a
// whole.
func Sanitize(text Raw) (out Clean, report Report) {
	return sanitize(text, false, func(text string, report *Report) string {
		text = cleanInfo(cleanLinks(text, report), report)
		return cleanTables(cleanMath(cleanDrawings(text, report), report), report)
	})
}

// Source is Sanitize for a text of which no formula and no picture is made where it goes, so
// that their source is shown.
func Source(text Raw) (out Clean, report Report) {
	return sanitize(text, false, func(text string, report *Report) string {
		return cleanInfo(cleanLinks(text, report), report)
	})
}

// Line is Sanitize for a text of one line that is not Markdown, a title for
// instance: line ends and tabs become spaces, spaces around the text go,
// brackets mean nothing, and a tag without attributes is a word like others.
func Line(text Raw) (out Clean, report Report) {
	return sanitize(text, true, func(text string, _ *Report) string {
		return strings.Join(strings.Fields(text), " ")
	})
}

// sanitize cleans raw, which is Markdown or, with line, one line of plain text. Each round
// ends with finish.
func sanitize(raw Raw, line bool, finish func(string, *Report) string) (Clean, Report) {
	report := Report{Removed: make(map[string]int)}
	text := strings.ToValidUTF8(string(raw), "\ufffd")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	// Once as GitHub reads it, before any decoding or removing changes what is a
	// line, a fence or a tag.
	text = finish(cleanHTML(text, line, &report), &report)
	text = strings.NewReplacer("\u2028", "\n", "\u2029", "\n").Replace(text)
	for range maxRounds {
		next := decodeReferences(text, &report)
		next = cleanHTML(next, line, &report)
		next = cleanCharacters(next, &report)
		next = finish(next, &report)
		if next == text {
			return Clean{text}, report
		}
		text = next
	}
	report.Refused = true
	return Clean{removed}, report
}

// Cut shortens text to at most limit bytes, of which the notice "[cut: N bytes]"
// at the end is a part, and returns how many bytes of text were left out. A
// character is never cut in two.
func Cut(clean Clean, limit int) (out Clean, cut int) {
	text := clean.text
	if len(text) <= limit {
		return clean, 0
	}
	// The notice is never longer than with all of the text cut.
	keep := max(0, limit-len(cutNotice(len(text))))
	for keep > 0 && !utf8.RuneStart(text[keep]) {
		keep--
	}
	cut = len(text) - keep
	return Clean{text[:keep] + cutNotice(cut)}, cut
}

func cutNotice(n int) string { return fmt.Sprintf("[cut: %d bytes]", n) }

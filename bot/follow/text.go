package follow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/feedback"
	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/sanitize"
)

const (
	maxReview   = 32 << 10 // of one review, with its comments
	maxEvidence = 16 << 10 // of one check
	// maxRequest bounds the request as it is encoded in the session's file, where the payload of a
	// line may have 64 KiB.
	maxRequest = 56 << 10
	logLines   = 200
	hunkLines  = 12
	maxHunk    = 4 << 10
	lineBytes  = 2000 // of a log
	nameBytes  = 200
)

// Evidence is what was read about an objection.
type Evidence struct {
	Objection
	Comments []feedback.Comment // of a review
	Log      sanitize.Raw       // the end of the job's log
	Output   feedback.Output    // of a check without a log
}

// Request is the text of one change request about all of it. Every line of others is quoted. What
// is too long is cut, the longest parts first.
func Request(all []Evidence, secrets *redact.Redactor) string {
	w := writer{secrets: secrets}
	for _, e := range all {
		switch {
		case e.Review != nil:
			w.review(e)
		case e.Check != nil:
			w.check(e)
		}
	}
	level := maxReview
	text := w.text(level)
	for ; level > minPart && encoded(text) > maxRequest; text = w.text(level) {
		level = level * 3 / 4
	}
	for most := maxRequest; encoded(text) > maxRequest; most = most * 3 / 4 {
		text = headOf(text, most)
	}
	return text
}

// minPart leaves so little of each part that only a great many of them do not fit.
const minPart = 100

// encoded is the length of a text in the session's file.
func encoded(text string) int {
	data, err := json.Marshal(text)
	if err != nil {
		return len(text) // a string cannot fail
	}
	return len(data)
}

// writer puts a request together. Its methods are the only way of a text of others into it.
type writer struct {
	secrets *redact.Redactor
	parts   []part
}

// part is a line of ours with the text of others that belongs to it, which is clean.
type part struct {
	head, text string
	end        bool // the end of the text counts most
}

func (w *writer) add(head, text string) { w.parts = append(w.parts, part{head: head, text: text}) }

// text has at most level bytes of each part.
func (w *writer) text(level int) string {
	var b strings.Builder
	for _, p := range w.parts {
		b.WriteString(p.head + "\n\n")
		cut := headOf
		if p.end {
			cut = tailOf
		}
		if p.text != "" {
			b.WriteString(quote(cut(p.text, level)) + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// quote marks each line of a text of others as one.
func quote(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return b.String()
}

func (w *writer) review(e Evidence) {
	left := maxReview
	body := w.prose(sanitize.Raw(e.Review.Body), left)
	w.add(fmt.Sprintf("%s requests changes (review %d of commit %.12s).", who(e.Review.Author), e.Review.ID, e.Review.Commit), body)
	left -= len(body)
	for i, c := range e.Comments {
		if c.Author.ID != e.Review.Author.ID {
			continue
		}
		at := w.span(c.Path)
		if c.Line > 0 {
			at += fmt.Sprintf(", line %d", c.Line)
		}
		if c.Removed {
			at += " as it was before"
		}
		hunk := headOf(w.verbatim(lastLines(c.Hunk, hunkLines)), maxHunk)
		body := w.prose(c.Body, max(minPart, left-len(hunk)-len(at)))
		if left -= len(hunk) + len(body) + len(at); left < 0 {
			w.add(fmt.Sprintf("[cut: %d comments in the code]", len(e.Comments)-i), "")
			return
		}
		w.add("At "+at+":", hunk)
		w.add(who(c.Author)+" says there:", body)
	}
}

func (w *writer) check(e Evidence) {
	failed := "The check " + w.span(e.Check.Name) + " failed"
	switch {
	case e.Log != "":
		w.parts = append(w.parts, part{head: failed + ". The end of its log:", text: w.log(e.Log), end: true})
	case !e.Output.IsZero():
		w.add(failed+". It says:", w.output(e.Output))
	case e.Check.Says != "":
		w.add(failed+". It says:", w.prose(e.Check.Says, maxEvidence))
	case e.Check.URL != "":
		w.add(failed+". Its details are at:", w.name(e.Check.URL))
	default:
		w.add(failed+", and says nothing more.", "")
	}
}

func (w *writer) output(o feedback.Output) string {
	var parts []string
	for _, text := range []sanitize.Raw{o.Title, o.Summary, o.Text} {
		if p := w.prose(text, maxEvidence); p != "" {
			parts = append(parts, p)
		}
	}
	for _, a := range o.Annotations {
		parts = append(parts, fmt.Sprintf("%s, line %d: %s", w.span(a.Path), a.Line, w.prose(a.Message, lineBytes)))
	}
	return headOf(strings.Join(parts, "\n"), maxEvidence)
}

// prose is Markdown of others.
func (w *writer) prose(text sanitize.Raw, most int) string {
	clean, _ := sanitize.Sanitize(w.plain(text))
	return headOf(w.secrets.Redact(clean.TrimSpace().String()), most)
}

// name is one short line of others, and span one in a code span.
func (w *writer) name(text sanitize.Raw) string {
	clean, _ := sanitize.Line(w.plain(text))
	return cmp.Or(headOf(w.secrets.Redact(clean.String()), nameBytes), "?")
}

func (w *writer) span(text sanitize.Raw) string {
	return "`" + strings.ReplaceAll(w.name(text), "`", "'") + "`"
}

// log is the end of one. Secrets go before lines are cut: half of one is not recognised.
func (w *writer) log(text sanitize.Raw) string {
	return tailOf(w.verbatim(Tail(w.plain(text))), maxEvidence)
}

// verbatim is a text of others that is not Markdown: cleaned as what is in a fence.
func (w *writer) verbatim(text sanitize.Raw) string {
	plain := strings.TrimRight(string(w.plain(text)), " \r\n")
	if plain == "" {
		return ""
	}
	fence := strings.Repeat("`", max(3, longestRun(plain, '`')+1))
	clean, report := sanitize.Source(sanitize.Raw("\n" + fence + "\n" + plain + "\n" + fence + "\n"))
	if report.Refused {
		return clean.String()
	}
	out := strings.TrimSpace(clean.String())
	out = strings.TrimSuffix(strings.TrimPrefix(out, fence+"\n"), "\n"+fence)
	return w.secrets.Redact(out)
}

// plain is text without secrets and without what terminals act on.
func (w *writer) plain(text sanitize.Raw) sanitize.Raw {
	return sanitize.Raw(escapes.ReplaceAllString(w.secrets.Redact(string(text)), ""))
}

// escapes are control sequences of terminals, and the times that Actions puts before each line.
var escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|(?m:^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z )`)

// Tail returns the last lines of a log, of which none is longer than a line may be.
func Tail(log sanitize.Raw) sanitize.Raw {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(string(log), "\ufffd"))
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	lines = lines[max(0, len(lines)-logLines):]
	for i, line := range lines {
		lines[i] = headOf(line, lineBytes)
	}
	return sanitize.Raw(strings.Join(lines, "\n"))
}

func lastLines(text sanitize.Raw, n int) sanitize.Raw {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return sanitize.Raw(strings.Join(lines[max(0, len(lines)-n):], "\n"))
}

// headOf cuts the end off, tailOf the beginning; both say so within the bound.
func headOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	keep := max(0, most-len(notice(len(text))))
	for keep > 0 && !utf8.RuneStart(text[keep]) {
		keep--
	}
	return text[:keep] + notice(len(text)-keep)
}

func tailOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	from := min(len(text), len(text)-most+len(notice(len(text)))+1)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return notice(from) + "\n" + text[from:]
}

func notice(n int) string { return fmt.Sprintf("[cut: %d bytes]", n) }

func longestRun(text string, of byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// who names an account; logins are of letters, digits and hyphens.
func who(a ghsync.Account) string { return "@" + a.Login }

// Sources is the source id of a request about all of these.
func Sources(all []Objection) string {
	var names []string
	for _, o := range all {
		names = append(names, o.Source)
	}
	slices.Sort(names)
	return strings.Join(names, separator)
}

package markdown

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// risky are the texts GitHub makes live by itself: addresses, also with letters before
// them, words that may begin or end a formula, the mark that makes a quotation an alert,
// mentions and mail, references to issues, and words that may be a commit.
var risky = regexp.MustCompile(`(?i)[0-9a-z]*(?:https?|ftp)://[^\s<>|` + "`" + `]+` +
	`|[0-9a-z]*www\.[^\s<>|` + "`" + `]*` +
	`|[^\s<>|*\[\]\\` + "`" + `]*\$[^\s<>|*\[\]\\` + "`" + `]*` +
	`|\[![a-z]+\]` +
	`|[\w.+-]*@[\w.-][\w./@-]*` +
	`|(?:[\w.-]+(?:/[\w.-]+)?)?#\d+` +
	`|GH-\d+` +
	`|[0-9a-z]{7,}`)

// findRisky is risky.FindStringIndex, one word after the other: no match has a space in it, and each search in a
// long line takes the longer the longer the line is.
func findRisky(s string) []int {
	for start := 0; start < len(s); {
		end := len(s)
		if n := strings.IndexAny(s[start:], " \t\n\f\r"); n >= 0 {
			end = start + n
		}
		// What is shorter than the name of a commit has one of these if it is live.
		if part := s[start:end]; len(part) >= 7 || strings.ContainsAny(part, ":.$[@#-") {
			if at := risky.FindStringIndex(part); at != nil {
				return []int{start + at[0], start + at[1]}
			}
		}
		start = end + 1
	}
	return nil
}

// hash is a word that may name a commit. An underscore ends a word: it may be emphasis.
var hash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^[0-9a-f]{7,40}$`) })

// word is a match of risky that is nothing but letters and digits.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^[0-9a-z]+$`) })

// plainLink is a link whose parts need no escaping.
var plainLink = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[([^\[\]\\` + "`" + `]*)\]\((https?://[^\s()<>` + "`" + `]+)\)`)
})

// checkbox is the beginning of a task.
var checkbox = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[[ xX]\]`) })

// line neutralizes one line of prose.
func (n Neutralizer) line(s string) string {
	var out, prose strings.Builder
	flush := func() {
		join(&out, n.prose(prose.String()))
		prose.Reset()
	}
	for i := 0; i < len(s); {
		size, kind := n.next(s, i)
		piece := s[i : i+size]
		switch kind {
		case pieceText:
			prose.WriteString(piece)
		case pieceCode, pieceLink:
			flush()
			join(&out, n.keep(piece, kind))
		case pieceTick:
			flush()
			join(&out, strings.Repeat("\\`", strings.Count(piece, "`")))
		case pieceEscape:
			prose.WriteString(unescaped(piece, s[:i], s[i+size:]))
		case pieceEscaped:
			prose.WriteString("\\" + piece)
		}
		i += size
	}
	flush()
	return out.String()
}

// unescaped returns a piece of the kind pieceEscape without its backslash if GitHub could make
// a reference of it after rendering. The escaped mark of a heading or a list stays as it is.
func unescaped(piece, before, after string) string {
	drop := true
	switch piece[1] {
	case '@', '<', '&', ':', '/', '$':
	case '#':
		drop = after != "" && '0' <= after[0] && after[0] <= '9'
	case '.':
		drop = after != "" && after[0] != ' '
	case ']':
		drop = alertStart().MatchString(before)
	case '-':
		drop = before != "" && word().MatchString(before[len(before)-1:])
	default:
		drop = false
	}
	if drop {
		return piece[1:]
	}
	return piece
}

// alertStart matches what precedes the bracket that ends the mark of an alert.
var alertStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\[![a-z]+$`) })

// join appends s; two code spans that touched would become one with other ends, and an
// address that may be a link would take in the marks of what touched it.
func join(out *strings.Builder, s string) {
	if s != "" && strings.Contains("`[\\", s[:1]) {
		before := out.String()
		neighbour := before[strings.LastIndexAny(before, " \t\n<")+1:]
		if s[0] == '`' && strings.HasSuffix(neighbour, "`") || strings.Contains(neighbour, "://") {
			out.WriteByte(' ')
		}
	}
	out.WriteString(s)
}

type piece int

const (
	pieceText    piece = iota
	pieceCode          // a closed code span
	pieceTick          // backticks that open nothing
	pieceEscape        // a backslash and what it escapes
	pieceLink          // a link to a permitted host
	pieceEscaped       // a bracket that would make a link, an image or a link definition
)

// next says what starts at s[i] and how long it is.
func (n Neutralizer) next(s string, i int) (int, piece) {
	switch s[i] {
	case '`':
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if end := closingRun(s[i+run:], run); end >= 0 {
			return run + end + run, pieceCode
		}
		return run, pieceTick
	case '\\':
		switch {
		case i+1 == len(s) || !strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", rune(s[i+1])):
			return 1, pieceEscaped // alone it would escape a code span set behind it
		case s[i+1] == '`':
			return 2, pieceTick
		}
		return 2, pieceEscape
	case ']':
		if i+1 < len(s) && (s[i+1] == '(' || s[i+1] == ':') {
			return 1, pieceEscaped
		}
	case '[':
		if i > 0 && s[i-1] == '!' {
			return 1, pieceEscaped
		}
		if m := plainLink().FindStringSubmatch(s[i:]); m != nil && n.allowed(m[2]) {
			return len(m[0]), pieceLink
		}
		if !checkbox().MatchString(s[i:]) {
			return 1, pieceEscaped // behind an open one nothing becomes a link, and [^ takes code for text
		}
	}
	return 1, pieceText
}

// closingRun finds a run of exactly size backticks.
func closingRun(s string, size int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == size {
			return i
		}
		i += run
	}
	return -1
}

func (n Neutralizer) keep(s string, kind piece) string {
	if kind == pieceCode {
		if n.tables { // where a bar ends a cell, and the code with it
			s = strings.ReplaceAll(strings.ReplaceAll(s, `\|`, "|"), "|", `\|`)
		}
		return s
	}
	m := plainLink().FindStringSubmatch(s)
	return "[" + n.prose(m[1]) + "](" + m[2] + ")"
}

// prose handles text without code: risky words go into code, markup is escaped.
func (n Neutralizer) prose(s string) string {
	var out strings.Builder
	for {
		at := findRisky(s)
		if at == nil {
			out.WriteString(Escape(s))
			return out.String()
		}
		before, plain := s[:at[0]], word().MatchString(s[at[0]:at[1]])
		match := strings.TrimRight(s[at[0]:at[1]], ".,;:!?'\"")
		if !strings.Contains(match, "(") {
			match = strings.TrimRight(match, ".,;:!?)'\"")
		}
		s = s[at[0]+len(match):]
		if n.allowed(match) && alone().MatchString(s) || plain && !hash().MatchString(match) {
			out.WriteString(Escape(before + match))
			continue
		}
		if tail := len(before) - len(strings.TrimRight(before, `\`)); tail%2 == 1 {
			before = before[:len(before)-1] // what it escaped is in the code, whose backtick it would escape
		}
		out.WriteString(Escape(before))
		join(&out, CodeSpan(match))
	}
}

// alone matches what follows an address that ends there; GitHub would take in anything else.
var alone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[.,;:!?'")]*(?:\s|$)`) })

var entity = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`&([#a-zA-Z])`) })

// Escape keeps what is markup or HTML in s from being read as such.
func Escape(s string) string {
	s = entity().ReplaceAllString(s, "&amp;$1")
	s = strings.ReplaceAll(s, "<", "&lt;")
	return strings.ReplaceAll(s, "~~~", `\~\~\~`)
}

// allowed reports whether an address may be a link: a permitted host, and no page of an
// issue, pull request, commit or discussion, where a link would leave a trace.
func (n Neutralizer) allowed(address string) bool {
	u, err := url.Parse(address)
	if err != nil || strings.Contains(address, "@") || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	if !slices.Contains(n.hosts, strings.ToLower(u.Host)) {
		return false
	}
	for _, trace := range []string{"/issues/", "/pull/", "/commit/", "/discussions/"} {
		if strings.Contains(u.Path+"/", trace) {
			return false
		}
	}
	return true
}

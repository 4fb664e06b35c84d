package redact

import (
	"math"
	"strings"
	"unicode"
)

// pattern is the shape of a well-known secret: words it holds or follows, and what is around
// them.
type pattern struct {
	rule  string
	words []string
	// start returns where a match would begin that has a word at a place, or -1; nil: there.
	start func(text string, at int) int
	// match looks at the text from its start on, and where the word ends.
	// It returns the length of the match, or 0 and how far no other match of
	// this pattern can start, which keeps hostile text linear.
	match func(text string, word int) (length, skip int)
	// harmless tells of a match, and of the text after it, that it cannot be a
	// real secret; nil: never.
	harmless func(match, after string) bool
	// border says that no word may go over the start.
	border bool
}

// shapes returns the patterns that are not regular expressions; the others are in tokens.txt.
func shapes() []*pattern {
	return []*pattern{
		{rule: "private-key", words: []string{"-----BEGIN "}, match: matchKey},
		{rule: "url-password", words: []string{"://"}, match: matchURL, harmless: exampleHost},
	}
}

// findPatterns returns what the patterns find; of one pattern none overlaps another.
func findPatterns(text string) []Finding {
	var found []Finding
	var from []int // where the next match of each pattern may start
	known := known()
	known.lookup.find(text, func(at int, w *clue) {
		if from == nil {
			from = make([]int, len(known.patterns))
		}
		for _, n := range w.patterns {
			p := known.patterns[n]
			if p.start == nil && at < from[n] {
				continue
			}
			length, start, next := p.try(text, at, at+len(w.text), from[n])
			from[n] = max(from[n], next)
			if length > 0 {
				end := start + length
				harmless := p.harmless != nil && p.harmless(text[start:end], text[end:])
				found = append(found, Finding{Rule: p.rule, start: start, end: end, harmless: harmless})
			}
		}
	})
	return found
}

// try returns the match that has a word at..end and starts at from or later, and where the
// next one may start.
func (p *pattern) try(text string, at, end, from int) (length, start, next int) {
	start = at
	if p.start != nil {
		start = p.start(text, at)
	}
	if start < from || p.border && start > 0 && isWord(text[start-1]) && isWord(text[start]) {
		return 0, 0, 0
	}
	length, skip := p.match(text[start:], end-start)
	return length, start, start + max(length, skip, 1)
}

// run returns how many leading bytes of text are of a class.
func run(text string, class func(byte) bool) int {
	n := 0
	for n < len(text) && class(text[n]) {
		n++
	}
	return n
}

// maxKey bounds the body of a private key: 16,384-bit RSA has 13 KB.
const maxKey = 16 << 10

// matchKey matches the first line of a private key and, since that line is not
// what is secret, the body after it.
func matchKey(text string, prefix int) (int, int) {
	const dashes, kind, footer = "-----", "PRIVATE KEY", "-----END "
	end := prefix + run(text[prefix:], isLabel)
	if !strings.HasSuffix(strings.TrimSuffix(text[prefix:end], " BLOCK"), kind) || !strings.HasPrefix(text[end:], dashes) {
		return 0, end
	}
	end += len(dashes)
	body := text[end:min(len(text), end+maxKey)]
	// Only up to the next dashes: they may begin another key.
	stop := strings.Index(body, dashes)
	if stop < 0 || !strings.HasPrefix(body[stop:], footer) {
		return end + len(strings.TrimRight(body[:run(body, isKeyBody)], " \r\n\t")), 0
	}
	end += stop + len(footer)
	end += run(text[end:], isLabel)
	if strings.HasPrefix(text[end:], dashes) {
		end += len(dashes)
	}
	return end, 0
}

// matchURL matches a name and a password in front of the host of a URL.
func matchURL(text string, prefix int) (int, int) {
	name := run(text[prefix:], func(b byte) bool { return isCredential(b) && b != ':' })
	end := prefix + name
	if name == 0 || end == len(text) || text[end] != ':' {
		return 0, prefix
	}
	end++
	password := run(text[end:], isCredential)
	end += password
	if password == 0 || end == len(text) || text[end] != '@' {
		return 0, prefix
	}
	return end + 1, 0
}

// entropy returns the bits per byte of text by how often each byte occurs in it.
func entropy(text string) float64 {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// exampleHost reports whether the host after the "@" is this machine, one
// reserved for examples and tests, or a name without a domain.
func exampleHost(_, after string) bool {
	if strings.HasPrefix(after, "[") {
		return strings.HasPrefix(after, "[::1]")
	}
	host := after
	if end := strings.IndexFunc(after, func(r rune) bool { return !isHost(r) }); end >= 0 {
		host = after[:end]
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	labels := strings.Split(host, ".")
	last := len(labels) - 1
	switch {
	case host == "127.0.0.1" || last == 0:
		return true
	case labels[last] == "test" || labels[last] == "localhost":
		return true
	case labels[last-1] != "example":
		return false
	default:
		// example.com, .net and .org are reserved with all below them.
		return last == 1 || labels[last] == "com" || labels[last] == "net" || labels[last] == "org"
	}
}

func isWord(b byte) bool   { return isAlnum(b) || b == '_' }
func isDashed(b byte) bool { return isWord(b) || b == '-' }
func isLabel(b byte) bool  { return b >= 'A' && b <= 'Z' || b == ' ' }

// isHost reports whether r may be in the host of a URL, which may be in any script.
func isHost(r rune) bool {
	return r == '-' || r == '.' || r == '_' || unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit)
}

// isCredential reports whether b may be in the user part of a URL.
func isCredential(b byte) bool {
	return b > ' ' && b != '/' && b != '@'
}

// isKeyBody reports whether b may be between the lines of a private key,
// which may be quoted ("\n") or indented.
func isKeyBody(b byte) bool {
	return isAlnum(b) || strings.IndexByte("+/=\\ \r\n\t", b) >= 0
}

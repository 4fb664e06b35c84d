package redact

import (
	"math"
	"strings"
	"unicode"
)

// pattern is the shape of a well-known secret: a prefix at a word border and
// what follows it.
type pattern struct {
	rule     string
	prefixes []string
	// match looks at the text from the prefix on, and where the prefix ends.
	// It returns the length of the match, or 0 and how far no other match of
	// this pattern can start, which keeps hostile text linear.
	match func(text string, prefix int) (length, skip int)
	// harmless tells of a match, and of the text after it, that it cannot be a
	// real secret; nil: never.
	harmless func(match, after string) bool
	// border says that no word character may stand before the prefix.
	border bool
}

// patterns returns the table of known shapes.
func patterns() []pattern {
	return []pattern{
		{"github-token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, atLeast(36, isDotted), nil, true},
		{"github-pat", []string{"github_pat_"}, atLeast(22, isWord), nil, true},
		{"aws-key", []string{"AKIA", "ASIA"}, exactly(16, isUpper), nil, true},
		{"google-key", []string{"AIza"}, atLeast(35, isDashed), tooRegular("AIza"), true},
		{"slack-token", []string{"xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"}, atLeast(10, isDashed), nil, true},
		{"provider-key", []string{"sk-"}, atLeast(20, isDashed), tooRegular("sk-"), true},
		{"npm-token", []string{"npm_"}, exactly(36, isWord), nil, true},
		{"gitlab-token", []string{"glpat-"}, atLeast(20, isDashed), nil, true},
		{"huggingface-token", []string{"hf_"}, atLeast(30, isWord), tooRegular("hf_"), true},
		{"jwt", []string{"eyJ"}, matchJWT, nil, true},
		{"private-key", []string{"-----BEGIN "}, matchKey, nil, false},
		{"url-password", []string{"://"}, matchURL, exampleHost, false},
		{"hex-token", hexContexts, matchHex, nil, false},
	}
}

// hexContexts are what stands before a token of 40 hex digits, as GitHub's were until 2021 and
// those of others are: by itself such a number is the name of a commit.
var hexContexts = []string{
	"token", "Token", "TOKEN", "secret", "Secret", "SECRET", "passw", "Passw", "PASSW", "api_key", "apikey", "apiKey", "API_KEY", "api-key",
	"oauth", "OAUTH", "OAuth", "Bearer", "bearer",
}

// matchHex matches a word, what sets a value apart from it, and 40 hex digits: token=...,
// "secret": "...", Authorization: token ....
func matchHex(text string, prefix int) (int, int) {
	const digits, longest = 40, 12
	end := prefix + min(longest, run(text[prefix:min(len(text), prefix+longest)], isDashed))
	apart := run(text[end:min(len(text), end+longest)], func(b byte) bool { return strings.IndexByte(" \t\"'=:>`(", b) >= 0 })
	for _, scheme := range []string{"token ", "Bearer ", "bearer "} {
		if strings.HasPrefix(text[end+apart:], scheme) {
			apart += len(scheme)
		}
	}
	start := end + apart
	n := run(text[start:min(len(text), start+digits+1)], isHexDigit)
	if apart == 0 || n != digits || start+n < len(text) && isWord(text[start+n]) || entropy(text[start:start+n]) < 2.5 {
		return 0, prefix
	}
	return start + n, 0
}

func isHexDigit(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

func findPatterns(text string) []Finding {
	var found []Finding
	for _, p := range patterns() {
		for _, prefix := range p.prefixes {
			found = p.find(text, prefix, found)
		}
	}
	return found
}

func (p *pattern) find(text, prefix string, found []Finding) []Finding {
	for from := 0; ; {
		next := strings.Index(text[from:], prefix)
		if next < 0 {
			return found
		}
		start := from + next
		if p.border && start > 0 && isWord(text[start-1]) {
			from = start + 1
			continue
		}
		length, skip := p.match(text[start:], len(prefix))
		if length == 0 {
			from = start + max(skip, 1)
			continue
		}
		end := start + length
		harmless := p.harmless != nil && p.harmless(text[start:end], text[end:])
		found = append(found, Finding{Rule: p.rule, start: start, end: end, harmless: harmless})
		from = end
	}
}

// run returns how many leading bytes of text are of a class.
func run(text string, class func(byte) bool) int {
	n := 0
	for n < len(text) && class(text[n]) {
		n++
	}
	return n
}

// atLeast matches a prefix and then n or more of a class. A start inside the
// same run has less of it after it.
func atLeast(n int, class func(byte) bool) func(string, int) (int, int) {
	return func(text string, prefix int) (int, int) {
		length := run(text[prefix:], class)
		if length < n {
			return 0, prefix + length
		}
		return prefix + length, 0
	}
}

// exactly matches a prefix, then n of a class, then a word border.
func exactly(n int, class func(byte) bool) func(string, int) (int, int) {
	return func(text string, prefix int) (int, int) {
		length := run(text[prefix:], class)
		end := prefix + length
		if length != n || end < len(text) && isWord(text[end]) {
			return 0, end
		}
		return end, 0
	}
}

// matchJWT matches three dotted parts of at least 10 characters.
func matchJWT(text string, prefix int) (int, int) {
	const least = 10
	first := run(text, isDashed)
	end, long := first, first-prefix >= least
	for range 2 {
		if !long || end == len(text) || text[end] != '.' {
			return 0, first
		}
		part := run(text[end+1:], isDashed)
		end, long = end+1+part, part >= least
	}
	if !long {
		return 0, first
	}
	return end, 0
}

// maxKey bounds the body of a private key: 16,384-bit RSA has 13 KB.
const maxKey = 16 << 10

// matchKey matches the first line of a private key and, since that line is not
// what is secret, the body after it.
func matchKey(text string, prefix int) (int, int) {
	const dashes, kind, last = "-----", "PRIVATE KEY", "-----END "
	end := prefix + run(text[prefix:], isLabel)
	if !strings.HasSuffix(text[prefix:end], kind) || !strings.HasPrefix(text[end:], dashes) {
		return 0, end
	}
	end += len(dashes)
	body := text[end:min(len(text), end+maxKey)]
	// Only up to the next dashes: they may begin another key.
	stop := strings.Index(body, dashes)
	if stop < 0 || !strings.HasPrefix(body[stop:], last) {
		return end + len(strings.TrimRight(body[:run(body, isKeyBody)], " \r\n\t")), 0
	}
	end += stop + len(last)
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

// tooRegular finds placeholders: less than 3.5 bits per character after the
// prefix.
func tooRegular(prefix string) func(match, after string) bool {
	const leastBits = 3.5
	return func(match, _ string) bool { return entropy(match[len(prefix):]) < leastBits }
}

// entropy returns the bits per byte of text by how often each byte stands in it.
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
func isDotted(b byte) bool { return isDashed(b) || b == '.' }
func isUpper(b byte) bool  { return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' }
func isLabel(b byte) bool  { return b >= 'A' && b <= 'Z' || b == ' ' }

// isHost reports whether r may stand in the host of a URL, which may be in any script.
func isHost(r rune) bool {
	return r == '-' || r == '.' || r == '_' || unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit)
}

// isCredential reports whether b may stand in the user part of a URL.
func isCredential(b byte) bool {
	return b > ' ' && b != '/' && b != '@'
}

// isKeyBody reports whether b may stand between the lines of a private key,
// which may be quoted ("\n") or indented.
func isKeyBody(b byte) bool {
	return isAlnum(b) || strings.IndexByte("+/=\\ \r\n\t", b) >= 0
}

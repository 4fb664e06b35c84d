// Package redact finds secrets in text and takes them out.
//
// A Redactor knows two kinds. Exact values are the secrets this process holds:
// they are found whole or in part (any 12 characters in a row), in letters of
// either case or moved by half the alphabet (rot13), reversed, with other
// characters than letters and digits, or tags of HTML, put between theirs, and
//
//   - in the escapes of URLs, JSON, program text and HTML, up to four times over,
//     and in the full-width and mathematical letters of Unicode;
//   - in hex, base64 and lists of decimal, octal, hex or binary numbers, also of
//     UTF-16, and in texts that are themselves hidden so, up to four times over;
//   - in base32, base85, uuencode and the words of hex dumps, in base64 with its
//     digits reversed, moved or set apart, in hex reversed. Of a value of more
//     than 96 characters up to 24 must be there.
//
// Patterns are the shapes of well-known tokens, which tokens.txt lists with their
// sources, of private keys and of passwords in URLs.
//
// What it promises: time is linear in the text, a Finding never holds the
// value, and text without a secret passes unchanged. It does not find a secret
// that was encrypted, compressed or put in other words, one with words between
// its characters, in look-alike letters of other alphabets, in numbers
// of more than eight bytes (base58), or in base32 or base85 of yet another
// encoding. The package stores nothing on disk; the values stay in memory, old ones
// too, since a revoked token in a log is still found by others: until Forget, where
// they were retired, else for the life of the Redactor.
package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// minSecret is the least number of characters of an exact value. Shorter ones
// would be found in harmless text.
const minSecret = 16

// githubToken is the name of the tokens that a process acts with on GitHub.
const githubToken = "github-token"

// ErrShort says that a value is too short to be searched for.
var ErrShort = fmt.Errorf("secret is shorter than %d characters", minSecret)

// ruleName is what may be in "[redacted:...]".
var ruleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) })

// Redactor finds and removes secrets. It is safe for concurrent use; New makes
// one.
type Redactor struct {
	lock  sync.RWMutex
	index index                 // guarded by lock
	known map[[32]byte]struct{} // digests of the values in index; guarded by lock
	given []given               // what index was made of; guarded by lock

	retired    map[[32]byte]time.Time // values that Forget takes out after a time; guarded by lock
	forgetting sync.Mutex             // held by Forget, before lock
}

// given is a line that was added, and what of it counts.
type given struct {
	Value
	parts  []part
	digest [32]byte
}

// Value is one exact value of a Redactor.
type Value struct {
	Name   string // the rule of its findings
	Secret Secret
}

// New makes a Redactor that knows the patterns and no exact value.
func New() *Redactor {
	return &Redactor{known: make(map[[32]byte]struct{})}
}

// Finding is one place of a text that holds a secret. It never holds the value.
type Finding struct {
	// Rule is the name given to Add, or that of the pattern.
	Rule string
	// Line counts from 1.
	Line int
	// Exact says that a value given to Add was found. It can never be allowed.
	Exact bool
	// SHA256 of the match in lower-case hex; empty when Exact.
	SHA256 string

	start, end int
	harmless   bool
}

// Start is where in the text it begins, in bytes.
func (f Finding) Start() int { return f.start }

// Add makes value one of the exact values, from now on, and for good unless it is retired. The name
// is in findings and in place of the value; it is lower-case letters,
// digits and ".", "_", "-". Of a value of several lines, a key file for
// instance, each line counts. Adding a value again changes nothing. A value, or
// a file without any line, of at least 16 characters is refused with ErrShort.
func (r *Redactor) Add(name, value string) error {
	if !ruleName().MatchString(name) {
		return fmt.Errorf("add secret: bad name %q", name)
	}
	lines, isKey := secretLines(value)
	added := false
	parts := secretParts(lines, isKey)
	r.lock.Lock()
	defer r.lock.Unlock()
	for i, line := range lines {
		if utf8.RuneCountInString(line) < minSecret {
			continue
		}
		added = true
		digest := sha256.Sum256([]byte(line))
		delete(r.retired, digest)
		if _, ok := r.known[digest]; !ok {
			r.known[digest] = struct{}{}
			r.given = append(r.given, given{Value{Name: name, Secret: NewSecret(line)}, parts[i], digest})
			r.index.add(name, line, parts[i])
		}
	}
	if !added {
		return fmt.Errorf("add secret %s: %w", name, ErrShort)
	}
	return nil
}

// Short reports whether Add would refuse a value as too short.
func Short(value string) bool {
	lines, _ := secretLines(value)
	return !slices.ContainsFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) >= minSecret })
}

// AddSecret is Add for the value of a Secret.
func (r *Redactor) AddSecret(name string, secret Secret) error {
	return r.Add(name, secret.Reveal())
}

// AddToken is AddSecret for a token that this process acts with on GitHub.
func (r *Redactor) AddToken(token Secret) error { return r.AddSecret(githubToken, token) }

// IsToken reports whether a value is a token that this process acts with on GitHub, or did.
func (r *Redactor) IsToken(value string) bool {
	return slices.ContainsFunc(r.Values(), func(v Value) bool { return v.Name == githubToken && v.Secret.Reveal() == strings.TrimSpace(value) })
}

// Values returns the exact values, line by line and the oldest first, for a process of
// ours that redacts what this one does not see. Added to another Redactor they are found
// alike, but that what is the same in all private keys is not left out.
func (r *Redactor) Values() []Value {
	r.lock.RLock()
	defer r.lock.RUnlock()
	values := make([]Value, len(r.given))
	for i, g := range r.given {
		values[i] = g.Value
	}
	return values
}

// secretLines returns the lines of value, and whether it is a private key, the
// first and last line of which are the same in all.
func secretLines(value string) (lines []string, isKey bool) {
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----BEGIN ") || strings.HasPrefix(line, "-----END ") {
			isKey = true
			continue
		}
		lines = append(lines, line)
	}
	return lines, isKey
}

// Redact returns text with "[redacted:rule]" in place of every secret.
func (r *Redactor) Redact(text string) string {
	var out strings.Builder
	done := 0
	for _, f := range r.find(text) {
		out.WriteString(text[done:f.start])
		out.WriteString(replacement(f.Rule))
		done = f.end
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// Error returns err with its text redacted, or err itself if it holds no
// secret. A redacted error can still be examined by errors.Is.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := r.Redact(text); clean != text {
		return &redactedError{text: clean, cause: err}
	}
	return err
}

// Line returns an error in one line, without secrets. A nil Redactor knows of none.
func (r *Redactor) Line(err error) string {
	text := err.Error()
	if r != nil {
		text = r.Redact(text)
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

type redactedError struct {
	text  string
	cause error
}

func (e *redactedError) Error() string { return e.text }

// Is looks into the chain without giving it away: Unwrap would let a caller
// print what was taken out.
func (e *redactedError) Is(target error) bool { return errors.Is(e.cause, target) }

// Scan returns the secrets of text in their order.
func (r *Redactor) Scan(text string) []Finding { return r.find(text) }

// ScanAdded returns the secrets of added, text that a change adds to base, that
// the change is to answer for. Not among them is a pattern's match that is also
// in base, whose host is an example or this machine, or which is too
// regular to be a key. Exact values are always among them.
func (r *Redactor) ScanAdded(base, added string) []Finding {
	found := slices.DeleteFunc(r.find(added), func(f Finding) bool { return f.harmless })
	if len(found) == 0 {
		return nil
	}
	old := make(map[string]bool)
	for _, f := range r.find(base) {
		old[f.SHA256] = true
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return !f.Exact && old[f.SHA256] })
}

func replacement(rule string) string { return "[redacted:" + rule + "]" }

// find returns the findings in order; none overlaps another.
func (r *Redactor) find(text string) []Finding {
	r.lock.RLock()
	found := r.index.find(text)
	r.lock.RUnlock()
	found = separate(append(found, findPatterns(text)...))
	line, done := 1, 0
	for i := range found {
		f := &found[i]
		line += strings.Count(text[done:f.start], "\n")
		done = f.start
		f.Line = line
		if !f.Exact {
			digest := sha256.Sum256([]byte(text[f.start:f.end]))
			f.SHA256 = hex.EncodeToString(digest[:])
		}
	}
	return found
}

// separate sorts the findings and makes one of those that overlap or, being
// parts of one value, touch. The result is exact if one of them is.
func separate(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	var out []Finding
	for _, f := range found {
		if len(out) == 0 {
			out = append(out, f)
			continue
		}
		last := &out[len(out)-1]
		if f.start > last.end || f.start == last.end && f.Rule != last.Rule {
			out = append(out, f)
			continue
		}
		last.end = max(last.end, f.end)
		last.harmless = last.harmless && f.harmless
		if f.Exact && !last.Exact {
			last.Rule, last.Exact, last.harmless = f.Rule, true, false
		}
	}
	return out
}

package message

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxFileName leaves room below the limit of file systems for what is added at an end.
const maxFileName = 240

// Name is what the name of a message's file hints at. From and To are agents without their
// mesh.
type Name struct {
	Stamp      string // 10, 14 or 17 digits
	Generation int    // 3 `stamp-type-from--to-id`, 2 `stamp-type-from>to-id`, 1 `stamp-from-to-type-id`; 0 = ambiguous
	Type       string
	From, To   string
	ID         string
	End        string // "done", "failed" or "orphan", which are added at the end; else ""
}

// ends are what is added to the name of a message that is over.
var ends = []string{"done", "failed", "orphan"}

// ParseName reads the name of a file. Agents are told apart from what follows them by the known
// ones; core and system always are. A name that can be read in no way, or in several, has no
// Generation, and of what it holds only stamp and end count.
func ParseName(file string, known []string) Name {
	text := strings.TrimSuffix(file, ".md")
	var n Name
	for _, end := range ends {
		if before, found := strings.CutSuffix(text, "-"+end); found {
			text, n.End = before, end
			break
		}
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if !slices.Contains([]int{10, 14, 17}, digits) || !strings.HasPrefix(text[digits:], "-") {
		return n
	}
	n.Stamp = text[:digits]
	r := reader{rest: text[digits+1:], known: append([]string{Person.Agent, System.Agent}, known...)}
	ways := append(r.directed(), r.oldest()...)
	if len(ways) != 1 {
		return n
	}
	ways[0].Stamp, ways[0].End = n.Stamp, n.End
	return ways[0]
}

// Time is the moment of the stamp, which is in UTC. One of ten digits names no year: it has the
// year that brings it closest to near. ok is false if the stamp is not a moment.
func (n Name) Time(near time.Time) (at time.Time, ok bool) {
	switch len(n.Stamp) {
	case 10:
		year := near.UTC().Year()
		for _, year := range []int{year, year - 1, year + 1} {
			t, err := time.Parse("20060102150405", fmt.Sprintf("%04d", year)+n.Stamp)
			if err == nil && (!ok || t.Sub(near).Abs() < at.Sub(near).Abs()) {
				at, ok = t, true
			}
			if ok && at.Sub(near).Abs() < 180*24*time.Hour {
				break // those of other years are further off: most names are read with one look
			}
		}
		return at, ok
	case 14:
		t, err := time.Parse("20060102150405", n.Stamp)
		return t, err == nil
	case 17:
		t, err := time.Parse("20060102150405.000", n.Stamp[:14]+"."+n.Stamp[14:])
		return t, err == nil
	}
	return at, false
}

// reader reads what follows the stamp.
type reader struct {
	rest  string
	known []string
}

// directed reads generations 3 and 2, which show where the sender ends. Of several types the
// longest counts, except where a shorter one leads to a known agent: ask-response-x is also an
// ask of response-x, if there is such an agent.
func (r reader) directed() (ways []Name) {
	generation, mark := 2, ">"
	if !strings.Contains(r.rest, mark) {
		generation, mark = 3, "--"
	}
	for _, t := range types {
		rest, ok := strings.CutPrefix(r.rest, t+"-")
		if !ok {
			continue
		}
		from, rest, ok := strings.Cut(rest, mark)
		if !ok || from == "" {
			continue
		}
		if to, id, ok := longest(r.known, rest); ok && id != "" {
			ways = append(ways, Name{Generation: generation, Type: t, From: from, To: to, ID: id})
		}
	}
	if len(ways) < 2 {
		return ways
	}
	slices.SortFunc(ways, func(a, b Name) int { return cmp.Compare(len(b.Type), len(a.Type)) })
	if slices.ContainsFunc(ways[1:], func(n Name) bool { return slices.Contains(r.known, n.From) }) {
		return ways
	}
	return ways[:1]
}

// oldest reads generation 1, in which only known agents show where anything ends.
func (r reader) oldest() (ways []Name) {
	for _, from := range r.known {
		rest, ok := strings.CutPrefix(r.rest, from+"-")
		if !ok {
			continue
		}
		for _, to := range r.known {
			rest, ok := strings.CutPrefix(rest, to+"-")
			if !ok {
				continue
			}
			if t, id, ok := longest(types, rest); ok && id != "" {
				if n := (Name{Generation: 1, Type: t, From: from, To: to, ID: id}); !slices.Contains(ways, n) {
					ways = append(ways, n)
				}
			}
		}
	}
	return ways
}

// longest finds the longest of words that text begins with, up to a dash.
func longest(words []string, text string) (word, rest string, ok bool) {
	for _, w := range words {
		if after, found := strings.CutPrefix(text, w+"-"); found && (!ok || len(w) > len(word)) {
			word, rest, ok = w, after, true
		}
	}
	return word, rest, ok
}

var idRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`) })

// FileName is the name of a message of today's generation. It fails if the message has an ID
// that cannot be part of a name, or one that is too long together with its agents.
func FileName(at time.Time, m *Message) (string, error) {
	if !idRule().MatchString(m.ID) {
		return "", fmt.Errorf("msg-id: expected letters, digits, dots, - and _, found %q", cut(m.ID))
	}
	name := at.UTC().Format("0102150405") + "-" + m.Type + "-" + m.From.Agent + "--" + m.To.Agent + "-" + m.ID + ".md"
	if len(name) > maxFileName {
		return "", fmt.Errorf("msg-id: the name of the file would have %d bytes, at most %d are allowed", len(name), maxFileName)
	}
	return name, nil
}

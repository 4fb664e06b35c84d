package checkpoint

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/agentmux/agentmux/internal/redact"
)

const (
	// windowSize is how much of a file is searched at a time.
	windowSize = 1 << 20
	// windowOverlap is how much of it is searched again with what follows: more than a private key takes, or the letters
	// of a value that are spread.
	windowOverlap = 64 << 10
)

// search finds the first secret of a text.
type search struct {
	secrets       *redact.Redactor
	size, overlap int
	buffer        []byte // of one window; used again
}

func newSearch(secrets *redact.Redactor) search {
	return search{secrets: secrets, size: windowSize, overlap: windowOverlap}
}

// unescaped takes the escapes of JSON out of texts: the n of a new line in front of a token
// would become a part of it.
var unescaped = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`)

// secret returns the rule of the first secret in text, empty for none.
func (s *search) secret(text string) string {
	return cmp.Or(s.first(text, 0, len(text)), s.firstEscaped(text, 0, len(text)))
}

// secretIn is secret of what it reads, of which it holds a window at a time. Windows meet where lines do, if those are not
// longer than half a window, so that none cuts what is on one line. In longer lines it finds what the overlap holds.
func (s *search) secretIn(from io.Reader) (rule string, err error) {
	if s.buffer == nil {
		s.buffer = make([]byte, s.size)
	}
	held, since := 0, 0 // since: the findings before it, or at it, are those of the window before
	escaped := ""
	for {
		n, err := io.ReadFull(from, s.buffer[held:])
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return "", err
		}
		held += n
		next := held
		if !last {
			next = s.next(s.buffer[:held])
		}
		text := string(s.buffer[:held])
		if rule == "" {
			rule = s.first(text, since, next)
		}
		if rule == "" && escaped == "" {
			escaped = s.firstEscaped(text, since, next)
		}
		if last {
			return cmp.Or(rule, escaped), nil
		}
		held, since = copy(s.buffer, s.buffer[next:held]), 1
	}
}

// next is where in a window the next one begins.
func (s *search) next(window []byte) int {
	most := len(window) - s.overlap
	if line := bytes.LastIndexByte(window[:most], '\n') + 1; line > most/2 {
		return line
	}
	for most > len(window)/2 && window[most-1] == '\\' {
		most-- // the next one would begin with the letter of an escape
	}
	return most
}

// first returns the rule of the first secret that begins at one of these places of text. One given
// to the redactor may have begun before.
func (s *search) first(text string, from, to int) string {
	for _, f := range s.secrets.ScanAdded("", text) {
		if f.Start() <= to && (f.Start() >= from || f.Exact) {
			return "secret." + f.Rule
		}
	}
	return ""
}

// firstEscaped is first without the escapes of JSON.
func (s *search) firstEscaped(text string, from, to int) string {
	if !strings.Contains(text, `\`) { // else it is the same, and a large text is not copied
		return ""
	}
	return s.first(unescaped.Replace(text), from, len(unescaped.Replace(text[:to])))
}

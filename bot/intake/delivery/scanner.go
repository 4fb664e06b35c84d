// Package delivery finds in the body of a webhook which repository it is of. It holds nothing of the body.
package delivery

import (
	"bytes"
	"strconv"
)

// Scanner finds the repository in the JSON of a delivery while the body passes by. It holds a few
// hundred bytes, whatever the size of the body and of the values in it. Of names that occur twice
// the last one counts, as for encoding/json. What is not JSON gives some result or none: it is
// used only once the signature is known to be valid, and then only to choose which poller to wake.
type Scanner struct {
	ID   int64  // repository.id; 0: none
	Name string // repository.full_name; empty: none

	depth  int
	object bool // the outermost value is an object
	within bool // in its member "repository", which is an object
	over   bool // the outermost value has ended

	quoted, escaped bool // in a string
	value           bool // behind the colon of a member that is looked at
	key             string
	text            []byte // of the present string or number, if it is looked at
	bad             bool   // it is not one that is looked for
}

// maxScanned is more than the names of an owner and a repository have.
const maxScanned = 200

// Write looks at a part of the body. It never fails.
func (s *Scanner) Write(data []byte) (int, error) {
	for i := 0; i < len(data) && !s.over; i++ {
		if s.quoted && s.bad && !s.escaped {
			if i += plain(data[i:]); i == len(data) {
				break
			}
		}
		if b := data[i]; s.quoted {
			s.inString(b)
		} else {
			s.outside(b)
		}
	}
	return len(data), nil
}

// plain returns how many bytes come before a quote or a backslash.
func plain(data []byte) (n int) {
	// In small parts: of a body of backslashes each one would look for a quote up to the end.
	const part = 256
	for n < len(data) {
		text := data[n:min(n+part, len(data))]
		quote := bytes.IndexByte(text, '"')
		if quote >= 0 {
			text = text[:quote]
		}
		if slash := bytes.IndexByte(text, '\\'); slash >= 0 {
			return n + slash
		}
		if n += len(text); quote >= 0 {
			return n
		}
	}
	return n
}

// looked reports whether the members at this place are looked at.
func (s *Scanner) looked() bool { return s.depth == 1 && s.object || s.depth == 2 && s.within }

func (s *Scanner) inString(b byte) {
	switch {
	case s.escaped: // none of the names that are looked for has such characters
		s.escaped, s.bad = false, true
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.quoted = false
		s.stringEnds()
	default:
		s.keep(b)
	}
}

func (s *Scanner) keep(b byte) {
	if s.bad = s.bad || len(s.text) == maxScanned; !s.bad {
		s.text = append(s.text, b)
	}
}

func (s *Scanner) outside(b byte) {
	switch b {
	case '"':
		s.quoted, s.bad, s.text = true, !s.looked(), s.text[:0]
	case '{', '[':
		s.opens(b == '{')
	case '}', ']':
		s.memberEnds()
		if s.depth--; s.depth < 2 {
			s.within = false
		}
		s.over = s.depth <= 0
	case ',':
		s.memberEnds()
	case ':':
		if s.looked() {
			s.value, s.bad, s.text = true, false, s.text[:0]
		}
	case ' ', '\t', '\r', '\n':
	default:
		if s.value && s.looked() {
			s.keep(b)
		}
	}
}

func (s *Scanner) opens(object bool) {
	switch s.depth++; s.depth {
	case 1:
		s.object = object
	case 2:
		s.within = object && s.object && s.value && s.key == "repository"
	}
	s.key, s.value, s.bad = "", false, true
}

// stringEnds takes a name, or the value of one.
func (s *Scanner) stringEnds() {
	switch {
	case !s.looked():
	case s.value:
		if s.within && s.key == "full_name" && !s.bad {
			s.Name = string(s.text)
		}
		s.bad = true // a string is not a number
	default:
		s.key = ""
		if !s.bad {
			s.key = string(s.text)
		}
		switch {
		case !s.within && s.key == "repository":
			s.ID, s.Name = 0, ""
		case s.within && s.key == "id":
			s.ID = 0
		case s.within && s.key == "full_name":
			s.Name = ""
		}
	}
}

// memberEnds takes the number that a member may have as its value.
func (s *Scanner) memberEnds() {
	if !s.looked() {
		return
	}
	if s.within && s.value && s.key == "id" && !s.bad {
		s.ID = number(s.text)
	}
	s.key, s.value, s.bad = "", false, true
}

// number returns a positive number in plain digits, or 0.
func number(digits []byte) int64 {
	n, err := strconv.ParseUint(string(digits), 10, 63)
	if err != nil {
		return 0
	}
	return int64(n)
}

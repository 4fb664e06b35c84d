package markdown

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxUnits leaves room under GitHub's limit of 65,536 characters for the marker
	// and for what closes and reopens blocks. Units are UTF-16, of which no text has fewer
	// than characters.
	MaxUnits = 60_000
	// maxParts is how many comments one record may become.
	maxParts = 3
	// closeRoom is what one part keeps for closing what is open in it.
	closeRoom = 300
)

// Units returns the length of s in UTF-16 code units.
func Units[T ~string](s T) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// Split cuts a text into at most maxParts parts of at most limit units. Each part is complete:
// fences and folds that the cut would leave open are closed and opened again, and the head of
// a table is repeated. What does not fit is left out; the last part then names where, the
// place where the whole text can be read.
func Split(whole Text, limit int, where string) []Text {
	text := whole.text
	if Units(text) <= limit {
		return []Text{whole}
	}
	s := splitter{limit: limit - closeRoom - Units(where)}
	for line := range strings.SplitSeq(text, "\n") {
		for _, piece := range s.fit(line) {
			if s.used+Units(piece)+1 > s.limit && s.used > 0 {
				if len(s.parts) == maxParts-1 {
					return s.end(fmt.Sprintf("\n[cut: the whole text is in %s]", where))
				}
				s.next()
			}
			s.add(piece)
		}
	}
	return s.end("")
}

// splitter builds one part after the other.
type splitter struct {
	limit int
	parts []Text
	lines []string
	used  int

	open  string   // the fence line of an open fence, also of one that is quoted
	fold  string   // the summary line of an open fold
	table []string // head of the table the last line belongs to
}

// fit cuts a line that is too long for a part. Only lines of code are: those of prose and
// tables are shorter when they get here.
func (s *splitter) fit(line string) []string {
	const reopen = 1000 // head, fence and fold that precede the line in its part
	room := s.limit - reopen
	if Units(line) <= room {
		return []string{line}
	}
	quote, line := quoted(line)
	var pieces []string
	for line != "" {
		head := Clip(line, room)
		pieces = append(pieces, quote+head)
		line = line[len(head):]
	}
	return pieces
}

// quoted separates the mark of a quotation from its line.
func quoted(line string) (quote, rest string) {
	if rest, ok := strings.CutPrefix(line, "> "); ok {
		return "> ", rest
	}
	return "", line
}

// Clip returns the longest prefix of s with at most n units.
func Clip[T ~string](s T, n int) T {
	used := 0
	for i, r := range s {
		used++
		if r > 0xFFFF {
			used++
		}
		if used > n {
			return s[:i]
		}
	}
	return s
}

// Shorten cuts a line at n units, between two words where that is near, and says so.
func Shorten[T ~string](s T, n int) T {
	if Units(s) <= n {
		return s
	}
	head := string(Clip(s, n))
	if i := strings.LastIndexAny(head, " \t\n"); i > len(head)/2 {
		head = head[:i]
	}
	return T(strings.TrimRight(head, " \t\n,;:") + " ...")
}

func (s *splitter) add(line string) {
	s.lines = append(s.lines, line)
	s.used += Units(line) + 1
	_, bare := quoted(line)
	if s.open != "" {
		_, first := quoted(s.open)
		if f, _ := opensFence(first); f.closes(bare) {
			s.open = ""
		}
		return
	}
	if f, _ := opensFence(bare); f != nil {
		s.open, s.table = line, nil
		return
	}
	switch {
	case strings.HasPrefix(line, "<details>"):
		s.fold = line
	case strings.HasPrefix(line, "</details>"):
		s.fold = ""
	}
	switch {
	case !strings.HasPrefix(line, "|"):
		s.table = nil
	case len(s.table) < 2:
		s.table = append(s.table, line)
	}
}

// next closes the part and opens the next one where it stopped. The cut goes back to the
// last blank line if that is near and nothing is open there.
func (s *splitter) next() {
	var carried []string
	if s.open == "" && len(s.table) == 0 {
		for i := len(s.lines) - 1; i > len(s.lines)*3/4; i-- {
			if f, _ := opensFence(s.lines[i]); f != nil || strings.HasPrefix(s.lines[i], "<") {
				break // what opens before it may close behind it
			}
			if s.lines[i] == "" {
				carried = append(carried, s.lines[i+1:]...)
				s.lines = s.lines[:i]
				break
			}
		}
	}
	open, fold, table := s.open, s.fold, s.table
	s.close()
	s.parts = append(s.parts, Text{strings.Join(s.lines, "\n")})
	s.lines, s.used, s.open, s.fold, s.table = nil, 0, "", "", nil
	if fold != "" {
		s.add(fold)
		s.add("")
	}
	if open != "" {
		s.add(open)
	}
	for _, head := range table {
		s.add(head)
	}
	for _, line := range carried {
		s.add(line)
	}
}

// close ends what is open in the part.
func (s *splitter) close() {
	if s.open != "" {
		quote, first := quoted(s.open)
		f, _ := opensFence(first)
		s.lines = append(s.lines, quote+strings.Repeat(string(f.char), f.size))
	}
	if s.fold != "" {
		s.lines = append(s.lines, "", "</details>")
	}
}

func (s *splitter) end(note string) []Text {
	s.close()
	if note != "" {
		s.lines = append(s.lines, note)
	}
	return append(s.parts, Text{strings.Join(s.lines, "\n")})
}

// Valid returns s with broken characters replaced. JSON would replace them silently and
// change the length.
func Valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

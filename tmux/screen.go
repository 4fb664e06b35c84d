package tmux

import (
	"strings"
	"unicode"
)

// keyLength is how many characters of the end of a line identify it on a screen. An
// input box may show no more than its last few words.
const keyLength = 12

// screen is the visible text of a pane, searched for one line.
type screen struct {
	dead bool
	rows []string
	spot spot
}

// spot is where a line is on a screen: how often, and the rows of the last time.
type spot struct {
	count       int
	first, last int
}

// newScreen splits a capture and finds key in it. Programs wrap a line at their own
// width and put a frame around it, so blanks and frames are left out of the search.
func newScreen(text string, dead bool, key string) screen {
	s := screen{dead: dead, rows: strings.Split(text, "\n")}
	var flat strings.Builder
	var row []int // the row of each byte of flat
	for i, r := range s.rows {
		bare := squeeze(r)
		flat.WriteString(bare)
		for range len(bare) {
			row = append(row, i)
		}
	}
	if key == "" {
		return s
	}
	all := flat.String()
	s.spot.count = strings.Count(all, key)
	if at := strings.LastIndex(all, key); at >= 0 {
		s.spot.first, s.spot.last = row[at], row[at+len(key)-1]
	}
	return s
}

// around returns the rows of the spot with one more above and below: the frame or the
// rule of an input box belongs to what is compared, a clock elsewhere does not.
func (s screen) around(at spot) string {
	from, to := max(at.first-1, 0), min(at.last+2, len(s.rows))
	if from >= to {
		return ""
	}
	return strings.Join(s.rows[from:to], "\n")
}

// key is what identifies a line on a screen.
func key(line string) string {
	r := []rune(squeeze(line))
	if len(r) > keyLength {
		r = r[len(r)-keyLength:]
	}
	return string(r)
}

// squeeze leaves out blanks, frames and prompt signs.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		frame := r >= 0x2500 && r <= 0x259f
		if unicode.IsSpace(r) || frame || strings.ContainsRune("|>❯›", r) {
			return -1
		}
		return r
	}, s)
}

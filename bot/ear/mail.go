package ear

import (
	"regexp"
	"strings"
)

// attributionLines is over how many lines a mail program breaks an attribution at most.
const attributionLines = 3

// attributions are the lines that a mail program puts above what it quotes: "On DATE NAME wrote:", or in
// another language one with a mail address, which GitHub shows as ***@***.***. The first says where
// it begins, and is looked for first.
var attributions = []*regexp.Regexp{regexp.MustCompile(`^On .* wrote:$`), regexp.MustCompile(`^.*\S@\S+\.\S.*:$`)}

// withoutMail cuts the mail that a comment answers from its end: lines that are quoted, below an
// attribution. A quote without one is a person's own and stays, so does one with text below it.
func withoutMail(text string) string {
	lines := strings.Split(text, "\n")
	end, quoted := unquoted(lines)
	if !quoted {
		return text
	}
	for _, attribution := range attributions {
		for n := 1; n <= min(attributionLines, end); n++ {
			if joined := strings.TrimSpace(strings.Join(lines[end-n:end], " ")); attribution.MatchString(joined) {
				return strings.Join(lines[:end-n], "\n")
			}
		}
	}
	return text
}

// unquoted returns how many lines are above the blank and quoted ones at the end, and whether one of
// these is quoted.
func unquoted(lines []string) (n int, quoted bool) {
	for n = len(lines); n > 0; n-- {
		line := strings.TrimSpace(lines[n-1])
		switch {
		case strings.HasPrefix(line, ">"):
			quoted = true
		case line != "":
			return n, quoted
		}
	}
	return n, quoted
}

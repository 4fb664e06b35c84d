package markdown

import (
	"regexp"
	"strings"
	"sync"
)

var (
	titleMention   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@(\w)`) })
	titleReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bGH-(\d+)|#(\d+)`) })
	titleAddress   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)https?://(\S+?)/(?:issues|pull|commit|discussions)/(\w+)\S*`)
	})
	titleSpace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s+`) })
	titleGlued = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\S)no\. `) })

	// skipWords have the automation of many services pass over a commit: [skip ci], [no ci],
	// [skip actions], [skip netlify], [CF-Pages-Skip], in any order and spelling.
	skipWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\[\s*((?:skip|no)[\s_-]+[\w-]+|[\w-]+[\s_-]+skip)\s*\]`)
	})
	skipStars = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\*+\s*(NO_CI)\s*\*+`) })

	// trailer is a line that says who else wrote, signed or reviewed a commit, what it is a
	// part of, or that its checks are to be skipped.
	trailer = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\W*(?:[a-z][a-z-]*-by|[a-z]*skip-checks|change-id|cc|agentmux-[a-z-]*|[a-z]+-(?:session|to|link|url))\s*[:=]`)
	})
)

// PlainDirectives takes their meaning from words that steer automation, and leaves the words.
func PlainDirectives(s string) string {
	return skipStars().ReplaceAllString(skipWords().ReplaceAllString(s, "($1)"), "$1")
}

// PlainTitle makes a text fit for a commit message's subject or a title, where there is no
// code to hide a reference in: "@x" becomes "(at)x", "#1" "no. 1" and "[skip ci]" "(skip ci)".
// It is one line; one that is a trailer is empty.
func PlainTitle(s string) string {
	s = titleSpace().ReplaceAllString(strings.TrimSpace(Visible(s)), " ")
	if trailer().MatchString(s) {
		return ""
	}
	return plainReferences(s)
}

// messageEnd is where git takes a commit message to end, so that trailers above it would
// count and those below would not: the line before a patch, and the scissors of an editor.
var messageEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:---|\S+ -+ >8 -+)`) })

// PlainMessage is PlainTitle for a text of several lines. Its trailers go, with the lines that
// continue them: those of a commit are the host's.
func PlainMessage(s string) string {
	var lines []string
	within := false // the lines of a trailer
	for line := range strings.SplitSeq(s, "\n") {
		line = Visible(strings.TrimRight(line, " \t\r"))
		if trailer().MatchString(line) {
			within = true
			continue
		}
		if within = within && line != "" && strings.TrimLeft(line, " \t") != line; within {
			continue
		}
		lines = append(lines, messageEnd().ReplaceAllString(plainReferences(line), " $0"))
	}
	return PlainDirectives(strings.Join(lines, "\n")) // also of two lines
}

func plainReferences(s string) string {
	s = Visible(s)
	s = titleAddress().ReplaceAllString(s, "$1 no. $2")
	s = titleMention().ReplaceAllString(s, "(at)$1")
	s = titleReference().ReplaceAllString(s, "no. $1$2")
	s = titleGlued().ReplaceAllString(s, "$1 no. ")
	return PlainDirectives(strings.ReplaceAll(s, "<!--", "(!--"))
}

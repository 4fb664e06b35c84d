package markdown

import (
	"fmt"
	"strings"
)

// Count is a number with its noun: "1 file", "2 files".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// FirstLine is the first line of s that is not empty, without the space around it.
func FirstLine(s string) string {
	for line := range strings.Lines(strings.TrimSpace(s)) {
		return strings.TrimSpace(line)
	}
	return ""
}

// Abbreviate is a hash as people see it: its first n characters.
func Abbreviate(hash string, n int) string {
	if len(hash) > n {
		return hash[:n]
	}
	return hash
}

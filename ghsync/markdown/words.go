package markdown

import (
	"fmt"
	"strings"
)

// Count returns a number with its noun: "1 file", "2 files".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// FirstLine returns the first line of s that is not empty, without the space around it.
func FirstLine[T ~string](s T) T {
	for line := range strings.Lines(strings.TrimSpace(string(s))) {
		return T(strings.TrimSpace(line))
	}
	return ""
}

// Abbreviate returns a hash as people see it: its first n characters.
func Abbreviate(hash string, n int) string {
	if len(hash) > n {
		return hash[:n]
	}
	return hash
}

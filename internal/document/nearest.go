package document

import "strings"

// Nearest returns the known word a mistyped one most likely meant, or "".
func Nearest(word string, known []string) string {
	// Longer words are not typing slips and would cost time.
	const longest = 60
	if len(word) > longest {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := distance(fold(word), fold(k)); d < bestDistance && d < len(k) {
			best, bestDistance = k, d
		}
	}
	return best
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance counts insertions, deletions, replacements and swaps of neighbours.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, above[j]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}

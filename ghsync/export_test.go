package ghsync

// Hooks for the tests of this package, which stand outside it.

// NeutralLine neutralizes one line for github.com and docs.example.com.
func NeutralLine(s string) string {
	return newNeutralizer("https://github.com", []string{"docs.example.com"}).line(s)
}

// NeutralBlock neutralizes a text of several lines.
func NeutralBlock(s string) string {
	return newNeutralizer("https://github.com", []string{"docs.example.com"}).block(s)
}

// Split cuts a text into comments.
func Split(text string, limit int, where string) []string { return split(text, limit, where) }

// Units is the length that Split counts.
func Units(s string) int { return units(s) }

// CodeSpan sets a text as code.
func CodeSpan(s string) string { return codeSpan(s) }

package markdown

import "github.com/agentmux/agentmux/internal/sanitize"

// Hooks for the tests of this package, which are outside of it.

// NeutralLine neutralizes one line for github.com and docs.example.com.
func NeutralLine(s string) string {
	return New("https://github.com", []string{"docs.example.com"}).line(s)
}

// NeutralBlock neutralizes a text of several lines.
func NeutralBlock(s string) string {
	return New("https://github.com", []string{"docs.example.com"}).Block(sanitize.Raw(s))
}

// FindRisky finds what GitHub makes live in a text, as the package does and at once.
func FindRisky(s string) (found, atOnce []int) { return findRisky(s), risky.FindStringIndex(s) }

// NeutralInline neutralizes a text that becomes one line.
func NeutralInline(s string) string {
	return New("https://github.com", nil).Inline(sanitize.Raw(s))
}

// NeutralCell neutralizes a text for a table.
func NeutralCell(s string) string { return New("https://github.com", nil).Cell(sanitize.Raw(s)) }

// TextOf returns a Text that holds s as it is.
func TextOf(s string) Text { return Text{s} }

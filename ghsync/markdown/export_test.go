package markdown

// Hooks for the tests of this package, which stand outside it.

// NeutralLine neutralizes one line for github.com and docs.example.com.
func NeutralLine(s string) string {
	return New("https://github.com", []string{"docs.example.com"}).line(s)
}

// NeutralBlock neutralizes a text of several lines.
func NeutralBlock(s string) string {
	return New("https://github.com", []string{"docs.example.com"}).Block(s)
}

// NeutralInline neutralizes a text that becomes one line.
func NeutralInline(s string) string {
	return New("https://github.com", nil).Inline(s)
}

// NeutralCell neutralizes a text for a table.
func NeutralCell(s string) string { return New("https://github.com", nil).Cell(s) }

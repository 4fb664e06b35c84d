package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/markdown"
)

// split is Split of and to strings.
func split(text string, limit int, where string) []string {
	var parts []string
	for _, part := range markdown.Split(markdown.TextOf(text), limit, where) {
		parts = append(parts, part.String())
	}
	return parts
}

func TestGitHub48LongTextBecomesBalancedParts(t *testing.T) {
	table := "| # | Issue |\n|---|---|\n"
	for i := range 900 {
		table += fmt.Sprintf("| %d | %s |\n", i, strings.Repeat("word ", 12))
	}
	code := "```go\n" + strings.Repeat("x := compute(1, 2, 3) // and more\n", 2500) + "```\n"
	for name, tc := range map[string]struct {
		text  string
		parts int
		cut   bool
	}{
		"short":             {"hello", 1, false},
		"table":             {"### Head\n\n" + table, 2, false},
		"fence":             {"text\n\n" + code, 2, false},
		"fold":              {"<details><summary>s</summary>\n\n" + strings.Repeat("line of text\n", 6000) + "\n</details>\n\nend", 2, false},
		"200 KB":            {strings.Repeat(code+"\n"+table+"\n", 2), 3, true},
		"one line":          {strings.Repeat("a", 150_000), 3, false},
		"astral characters": {strings.Repeat("🙂🙂🙂 ", 12_000), 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			parts := split(tc.text, 60_000, "`07_review/review.md`")
			if len(parts) != tc.parts {
				t.Errorf("%d parts, want %d", len(parts), tc.parts)
			}
			for i, p := range parts {
				if n := markdown.Units(p); n > 60_000 {
					t.Errorf("part %d has %d units", i+1, n)
				}
				checkBalanced(t, i+1, p)
			}
			if got := strings.Contains(parts[len(parts)-1], "[cut: the whole text is in `07_review/review.md`]"); got != tc.cut {
				t.Errorf("cut note: %v", got)
			}
			if tc.cut || tc.parts == 1 {
				return
			}
			for _, want := range []string{strings.TrimSpace(tc.text)[:5], strings.TrimSpace(tc.text)[len(strings.TrimSpace(tc.text))-3:]} {
				if !strings.Contains(strings.Join(parts, ""), want) {
					t.Errorf("%q is lost", want)
				}
			}
		})
	}
}

func checkBalanced(t *testing.T, i int, part string) {
	t.Helper()
	open, folds, rows := false, 0, 0
	for line := range strings.Lines(part) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			if open && line != "```" || !open && line != "```go" {
				t.Errorf("part %d: fence line %q", i, line)
			}
			open = !open
		case open:
		case strings.HasPrefix(line, "<details>"):
			folds++
		case line == "</details>":
			folds--
		case strings.HasPrefix(line, "|"):
			if rows == 0 && line != "| # | Issue |" {
				t.Errorf("part %d: a table begins with %q", i, line)
			}
			rows++
			continue
		}
		rows = 0
	}
	if open || folds != 0 {
		t.Errorf("part %d: open fence %v, open folds %d", i, open, folds)
	}
}

func TestGitHub48QuotedCodeStaysCodeInEachPart(t *testing.T) {
	for name, text := range map[string]string{
		"lines":    "> ```go\n" + strings.Repeat("> @all fixes #1\n", 6000) + "> ```\n\nend",
		"one line": "> ```go\n> " + strings.Repeat("@all fixes #1 ", 8000) + "\n> ```\n\nend",
		"blank":    strings.Repeat("word\n", 11_000) + "```go\n" + strings.Repeat("@all\n", 500) + "\n" + strings.Repeat("@all\n", 10) + "```\n" + strings.Repeat("word\n", 8000),
	} {
		parts := split(text, 60_000, "x")
		if len(parts) < 2 {
			t.Errorf("%s: %d parts", name, len(parts))
		}
		for i, part := range parts {
			part = strings.ReplaceAll("\n"+part, "\n> ", "\n")
			if live := alive(part); live != "" {
				t.Errorf("%s: %q is live in part %d: %.60q", name, live, i+1, part)
			}
		}
	}
}

func TestNothingIsLostBetweenTwoParts(t *testing.T) {
	var text strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&text, "line %d\n", i)
		if i%50 == 0 {
			text.WriteString("\n")
		}
	}
	all := strings.Join(split(text.String(), 60_000, "x"), "\n")
	times := map[string]int{}
	for line := range strings.Lines(all) {
		times[line]++
	}
	for i := range 9000 {
		if n := times[fmt.Sprintf("line %d\n", i)]; n != 1 {
			t.Fatalf("line %d is there %d times", i, n)
		}
	}
}

package show_test

import (
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/show"
)

func TestInvisibleCharactersAreShown(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"letters and a tab":     {"+a\tb ü", "+a\tb ü"},
		"an escape":             {"a\x1b[2Jb", "a<U+001B>[2Jb"},
		"a change of direction": {"a\u202eb", "a<U+202E>b"},
		"a byte alone":          {"a\xffb", "a<FF>b"},
		"a carriage return":     {"a\r", "a<U+000D>"},
		"a tag":                 {"a\U000E0041b", "a<U+E0041>b"},
		"a space of no width":   {"zero\u200bwidth", "zero<U+200B>width"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show.Visible(c.text); got != c.want {
				t.Errorf("%q is shown as %q, want %q", c.text, got, c.want)
			}
		})
	}
}

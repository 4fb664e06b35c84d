package show_test

import (
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/show"
)

func TestWhatIsNotSeenIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"+a\tb ü": "+a\tb ü", "a\x1b[2Jb": "a<U+001B>[2Jb", "a\u202eb": "a<U+202E>b", "a\xffb": "a<FF>b", "a\r": "a<U+000D>",
		"a\U000E0041b": "a<U+E0041>b", "zero\u200bwidth": "zero<U+200B>width",
	} {
		if got := show.Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

package markdown_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agentmux/agentmux/ghsync/markdown"
)

// Text is searched word by word, and what is found in it is what a search in all of it finds.
func TestLiveTextIsFoundWordByWord(t *testing.T) {
	parts := []string{
		" ", " ", "\t", "\n", "\r", "\f", "\v", "\u00a0", "\u2028", "a", "Z", "9", "abc1234", "ſſſ", "KKK", "ä", "://", "http", "HTTPS", "ftp", "www", "WWW", ".", "/", ":",
		"$", "[!", "[", "]", "note", "@", "#", "1", "GH-", "gh", "-", "_", "<", ">", "|", "*", "`", "\\", "(", ")", "+", "\xff",
	}
	r := rand.New(rand.NewPCG(1, 2))
	live := 0
	for range 4000 {
		text := ""
		for range 1 + r.IntN(12) {
			text += parts[r.IntN(len(parts))]
		}
		found, atOnce := markdown.FindRisky(text)
		if !slices.Equal(found, atOnce) {
			t.Fatalf("%q: %v, at once %v", text, found, atOnce)
		}
		live += len(found) / 2
	}
	if live < 1000 {
		t.Errorf("%d texts are live", live)
	}
}

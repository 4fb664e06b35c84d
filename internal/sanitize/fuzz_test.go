package sanitize_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/sanitize"
)

// seeds holds a piece of every syntax, so that a fuzzer has something to join.
func seeds() []string {
	return []string{
		"", "a <!-- b --> c", "<b title='x'>y</b>", "```\n<!-- x -->\n```", "&#60;!--&#38;#62;", "![a](b \"c\")",
		"[a][b]\n\n[b]: http://x 'y'\n[^1]: z", "<script>x</script><svg>", "<![CDATA[x]]><?y?><!z>", "~~~\nx\n~~~~",
		"a\u200d\u202e\u0301\u0344\ufe0f\u2028\u1fef\u037e", "- > 1. ```\n  ```", "`a` ``b|`` \\` \\[", "<http://x> <a@b> <javascript:x>",
		"Vec<u8> <a<b>c> </x y>", "<pre>\n\n</pre>", "&shy;&nbsp;&#x202e;&#10;", "<div>\n\n\t`x\n`y", "e\u0301\u1100\u1161\u11a8\U000e0001\xff\r\n",
	}
}

func FuzzSanitize(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, clean := range map[string]func(string) (string, sanitize.Report){"Sanitize": sanitize.Sanitize, "Line": sanitize.Line} {
			out, report := clean(text)
			if !utf8.ValidString(out) {
				t.Fatalf("%s: not valid UTF-8: %q", name, out)
			}
			if at := strings.IndexFunc(out, sanitize.Forbidden); at >= 0 {
				t.Fatalf("%s: forbidden character at %d: %q", name, at, out)
			}
			again, second := clean(out)
			if again != out {
				t.Fatalf("%s: %q, then %q", name, out, again)
			}
			if n := len(second.Removed); n != 0 {
				t.Fatalf("%s: of clean text %+v was removed: %q", name, second, out)
			}
			if len(out) > 3*len(text)+len("[link removed]")*(1+len(text)/2) {
				t.Fatalf("%s: grew from %d to %d bytes (%+v)", name, len(text), len(out), report)
			}
		}
	})
}

func FuzzFold(f *testing.F) {
	for _, seed := range append(seeds(), "\u0345\u03b1\u0345", "ΑΙ\u0345", "\u1fb3", "İı", "\u0390\ufb00", "\u13be\uab8e\u13f0\u13f8") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := sanitize.Fold(text)
		if twice := sanitize.Fold(once); twice != once {
			t.Fatalf("%q folds to %q, then to %q", text, once, twice)
		}
	})
}

func FuzzFence(f *testing.F) {
	f.Add("text", "source", "author")
	f.Fuzz(func(t *testing.T, text, source, author string) {
		out := sanitize.Fence(text, source, author)
		if strings.Count(out, "\n--- begin ") < 1 || !strings.Contains(out, text) || !strings.HasSuffix(out, " ---\n") {
			t.Fatalf("fence is %q", out)
		}
	})
}

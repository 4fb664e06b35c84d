package sanitize_test

import (
	"math/rand/v2"
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
		checkClean(t, "Sanitize", text, clean)
		checkClean(t, "Line", text, cleanLine)
	})
}

// checkClean fails if the result of clean is not what every result must be.
func checkClean(t *testing.T, name, text string, clean func(string) (string, sanitize.Report)) {
	t.Helper()
	out, _ := clean(text)
	if !utf8.ValidString(out) {
		t.Fatalf("%s of %q: not valid UTF-8: %q", name, text, out)
	}
	if at := strings.IndexFunc(out, sanitize.Forbidden); at >= 0 {
		t.Fatalf("%s of %q: forbidden character at %d: %q", name, text, at, out)
	}
	twice, report := clean(out)
	if twice != out {
		t.Fatalf("%s of %q: %q, then %q", name, text, out, twice)
	}
	if len(report.Removed) != 0 {
		t.Fatalf("%s of %q: of clean text %+v was removed: %q", name, text, report, out)
	}
	if len(out) > 32*(1+len(text)) {
		t.Fatalf("%s: grew from %d to %d bytes", name, len(text), len(out))
	}
}

// pieces are what the syntax is made of; a byte of FuzzPieces selects one.
func pieces() []string {
	return append(strings.Fields("` `` ``` ~~~ \\ < > / ! ? - -- [ ] ( ) : ^ & # ; x a <b <b> <pre </pre <svg </svg> <img <q.r> "+
		"<!-- --> <!x <form> &#38; &#96; &shy; &nbsp; &#10; ' \" = | [a]: [^a]: http://x js:x \u200b \u202e \u0301 \u1fef \u2028 1. *"),
		" ", "\n", "\n\n", "\t", "    ", "\u00a0", "\r")
}

func FuzzPieces(f *testing.F) {
	all := pieces()
	numbers := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		seed := make([]byte, numbers.IntN(25))
		for i := range seed {
			seed[i] = byte(numbers.IntN(len(all)))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, numbers []byte) {
		var text strings.Builder
		for _, n := range numbers {
			text.WriteString(all[int(n)%len(all)])
		}
		checkClean(t, "Sanitize", text.String(), clean)
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

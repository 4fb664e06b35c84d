package sanitize_test

import (
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/sanitize"
)

const size = 1 << 20

func fill(part string) string { return strings.Repeat(part, size/len(part)) }

// hostile are texts that make a careless cleaner slow.
func hostile() map[string]string {
	return map[string]string{
		"prose":               fill("Some *prose* with `code`, [links](http://x) and <b>tags</b>.\n\n"),
		"brackets":            fill("["),
		"closed brackets":     fill("[]"),
		"images":              fill("!["),
		"links":               fill("[a](b "),
		"nested links":        fill("[a]("),
		"titles":              fill("[a](b \""),
		"references":          fill("[a][") + "]",
		"definitions":         fill("[a]: b\n"),
		"footnotes":           fill("[^a]: b\n") + "[^a]",
		"open definitions":    fill("[a]: b '"),
		"angles":              fill("<"),
		"open tags":           fill("<a "),
		"open tags at end":    fill("<a ") + ">",
		"open quotes":         fill("<a b='"),
		"quoted ends":         fill("<a b='>' "),
		"unknown tags":        fill("<y z='>' <y z=\">\" "),
		"two quotes":          fill("<a b='\" <a b=\"' "),
		"comments":            fill("<!---->"),
		"open comments":       fill("<!-- "),
		"declarations":        fill("<!1"),
		"letters":             fill("<!a\n\n"),
		"instructions":        fill("<?>"),
		"dollars":             fill("$"),
		"formulas":            fill("$a$ %"),
		"open formulas":       fill("$a"),
		"phantoms":            fill("\\phantom{"),
		"odd phantoms":        fill("\\label x"),
		"drawings":            fill("```math\n"),
		"drawings in lists":   fill("- ```math\n```\n"),
		"rows":                "|a|\n|-|\n" + fill("|a|b|\n"),
		"tables":              fill("|a|\n|-|\n"),
		"bogus comments":      fill("</ x"),
		"bogus in blocks":     fill("<div>\n</ x\n\n"),
		"words of fences":     fill("- ``` x y\n"),
		"emptied":             fill("<svg>"),
		"emptied, odd":        fill("<svg></svgx>"),
		"emptied, no end":     fill("<svg></svg"),
		"ampersands":          fill("&"),
		"references of one":   fill("&#38;"),
		"nested references":   fill("&#&#51;8;"),
		"long reference":      "&#" + fill("0") + "65;",
		"backticks":           fill("` "),
		"growing backticks":   growing('`', " "),
		"fences":              fill("```\n"),
		"open fences":         fill("```\n\n~~~\n\n"),
		"growing fences":      growing('`', "\n\n"),
		"indented fences":     fill("```\n\n   ~~~\n\n"),
		"quotes":              fill("> ```\n"),
		"marks":               "x" + fill("\u0301"),
		"odd marks":           "x" + fill("\u0344"),
		"invisible":           fill("\u200b"),
		"joiners":             "\u0628" + fill("\u200d"),
		"Hangul":              fill("\u1100\u1161\u11a8"),
		"backslashes":         fill("\\"),
		"blank lines":         fill("\n \t"),
		"autolinks":           fill("<a:b"),
		"mail":                fill("<a@b@"),
		"tags in tags":        fill("<<form>form>"),
		"comments in pieces":  fill("<<form>!-- "),
		"one line of columns": fill("|`a`|"),
	}
}

// growing joins runs of all lengths.
func growing(mark byte, between string) string {
	var out strings.Builder
	for n := 1; out.Len() < size; n++ {
		out.WriteString(strings.Repeat(string(mark), n) + between)
	}
	return out.String()
}

func BenchmarkSanitize1MiB(b *testing.B) {
	for name, text := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				sanitize.Sanitize(sanitize.Raw(text))
			}
		})
	}
}

package sanitize_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/internal/sanitize"
)

// evil is what no case may let through.
const evil = "EVIL"

// clean is Sanitize of and to strings.
func clean(text string) (string, sanitize.Report) {
	out, report := sanitize.Sanitize(sanitize.Raw(text))
	return out.String(), report
}

// cleanLine is Line of and to strings.
func cleanLine(text string) (string, sanitize.Report) {
	out, report := sanitize.Line(sanitize.Raw(text))
	return out.String(), report
}

func TestSecurity4HiddenTextIsRemoved(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		// S1
		{"invalid UTF-8", "a\xffb", "a\ufffdb"},
		{"line ends", "a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne"},
		// S2
		{"numeric references", "&#72;&#x69;&#X21; &#60;", "Hi! <"},
		{"without semicolon", "&#72i", "Hi"},
		{"of references", "&#38;#38;#38;#72;i", "Hi"},
		{"digits of references", "&#65a &#x4a;&#x4F; &#38;\n1.", "Aa JO &\n1."},
		{"of many references", "&" + strings.Repeat("#38;", 50) + "#72;i", "Hi"},
		{"invisible references", "a&shy;b&ZeroWidthSpace;c&nbsp;d&lrm;e", "abc de"},
		{"visible references stay", "a &lt;b&gt; &amp;#65 x & y &unknown;", "a &lt;b&gt; &amp;#65 x & y &unknown;"},
		{"impossible references", "&#0;&#xD800;&#x110000;&#99999999999;", "\ufffd\ufffd\ufffd\ufffd"},
		{"reference to a fence", "&#96;&#96;&#96;\n<!-- EVIL -->\n&#96;&#96;&#96;", "\\`\\`\\`\n[removed]\n\\`\\`\\`"},
		{"reference to a line end", "a&#10;&#10;b", "a  b"},
		// S3
		{"comment", "a <!-- EVIL --> b", "a [removed] b"},
		{"comment of lines", "a\n<!--\nEVIL\n\nEVIL\n-->\nb", "a\n[removed]\nb"},
		{"unterminated comment", "a <!-- EVIL\n\nEVIL", "a [removed]"},
		{"empty comments", "<!-->a<!--->b<!---->c", "[removed]a[removed]b[removed]c"},
		{"odd ends", "<!-- EVIL --!>a<!-- EVIL --->b", "[removed]a[removed]b"},
		{"CDATA, doctype, instruction", "a<![CDATA[ EVIL ]]>b<!DOCTYPE EVIL>c<?php EVIL > EVIL ?>d", "a[removed]b[removed]c[removed]d"},
		{"bogus comments", "<!EVIL>a</ EVIL>b<? EVIL >c", "[removed]a[removed]b[removed]c"},
		{"escaped comment", `\<!-- EVIL -->`, `\[removed]`},
		{"CDATA that HTML ends before", "<![CDATA[ EVIL > EVIL ]]>x", "[removed]x"},
		{"declaration without end", "a <! EVIL", "a [removed]"},
		{"declaration at the end", "a <!", "a [removed]"},
		{"declaration of paragraphs", "a\n> <!x\n\nEVIL\n\nEVIL > b", "a\n> [removed] b"},
		{"declaration in a paragraph", "a <!x EVIL\n\nb > c", "a [removed]\n\nb > c"},
		{"bogus comments in an HTML block", "<div>\n</ EVIL\nEVIL\n>a\n<! EVIL\n\nb > c", "<div>\n[removed]a\n[removed]\n\nb > c"},
		{"bogus comment in pre", "<pre>\n</ EVIL\n\nEVIL > a</pre>", "<pre>\n[removed] a</pre>"},
		{"comment by references", "&#60;!-- EVIL --&#62;", "[removed]"},
		{"comment in a comment", "<!-- <!-- EVIL --> x", "[removed] x"},
		{"comment around a fence", "<!--\n\n```\nEVIL\n```\n-->x", "[removed]x"},
		// S4
		{"attributes", `<b title="EVIL" hidden>x</b EVIL> <details open>`, "<b>x</b> <details>"},
		{"quoted end", `<b title="> EVIL">x`, "<b>x"},
		{"attribute of lines", "<b\ntitle='\nEVIL\n'\n>x", "<b>x"},
		{"attribute without end", "<div>\n<b title=\" EVIL\n\nEVIL", "<div>\n<b>"},
		{"quotes in quotes", `<b a='"> EVIL' b="'> EVIL">x`, "<b>x"},
		{"spaces in a tag", "<b\ta \t=\n'> EVIL'c = \"> EVIL\" d/ e='> EVIL'>x", "<b>x"},
		{"quote in a value", `<b a=x'>y' z>`, "<b>y' z>"},
		{"end of the text", "<b", "<b>"},
		{"backslash at the end", "<b>\\", "<b>\\"},
		{"words in an address", "a <http://x EVIL>", "a "},
		{"tag without end", "<div>\n<foo EVIL\n\nx", "<div>\n\n\nx"},
		{"content", "a<script>EVIL</script>b<STYLE>EVIL</Style >c<svg><b>EVIL</b></svg>d<title>EVIL</title\n>e", "abcde"},
		{"pretended end of content", "a<svg></svgx>EVIL</svg>b", "ab"},
		{"content without end", "a <title> b", "a  b"},
		{"content in capitals", "<TEXTAREA>EVIL</TEXTAREA>x", "x"},
		{"code after content", "<script>EVIL</script>\n\n`<b c>`", "\n\n`<b c>`"},
		{"pictures", `<img alt="EVIL" src=x><IMG/EVIL><image EVIL>`, "[image removed][image removed][image removed]"},
		{"other elements", `<form action=EVIL><input value="EVIL"><x-y EVIL>a</x-y></form>`, "a"},
		{"unknown with attributes", "a <please EVIL now> b", "a  b"},
		{"long name", "a <" + strings.Repeat("EVIL", 20) + ">", "a "},
		{"tag from tags", "<scr<form>ipt>EVIL</scr<form>ipt>x", "x"},
		// S5
		{"zero width", "a\u200bb\u2060c\ufeffd\u00ade", "abcde"},
		{"bidi", "a\u202eEV\u2066IL\u2069\u200e", "aEVIL"},
		{"controls", "a\x00b\x1bc\x7fd\u0085e\x0cf\tg", "abcdef\tg"},
		{"tags", "a\U000e0045\U000e0056\U000e0049\U000e004c", "a"},
		{"private, none", "a\ue000b\U000f0000c\ufffed\U0010ffffe\ufdd0f", "abcdef"},
		{"spaces", "a\u00a0b\u2003c\u3000d", "a b c d"},
		{"form C", "e\u0301 \u1100\u1161", "\u00e9 \uac00"},
		// Behind a fence only its language is of use.
		{"words behind a fence", "```go EVIL\nx\n```\n\n~~~ EVIL`x\n<!-- stays -->\n~~~\n- ```EVIL=EVIL\n  x\n  ```", "```go\nx\n```\n\n~~~text\n<!-- stays -->\n~~~\n- ```text\n  x\n  ```"},
		{"words in place of a language", "```" + strings.Repeat("EVIL-", 5) + "\nx\n```", "```text\nx\n```"},
		{"heap of marks", "x" + strings.Repeat("\u0316", 50) + "y", "x" + strings.Repeat("\u0316", 8) + "y"},
		// S6
		{"images", `![EVIL](http://x "EVIL") ![EVIL][r] ![r] ![no]` + "\n\n[r]: http://x", "[image removed] [image removed] [image removed] ![no]\n\n"},
		{"image as link", "[![EVIL](http://x)](http://y)", "[[image removed]](http://y)"},
		{"image after a bang", "!![EVIL](http://x)", "![image removed]"},
		{"image behind a false fence", "x ```![EVIL](y)\n```", "x ```[image removed]\n```"},
		{"title behind escapes and brackets", `[a](x\) "EVIL") [b](x "b\" (EVIL") [c](x_(y)_z "EVIL")`, `[a](x\)) [b](x) [c](x_(y)_z)`},
		{"title of a link over lines", "[a\nb](http://x \"EVIL\")", "[a\nb](http://x)"},
		{"link title", `[a](http://x "EVIL") [b](<http://x> 'EVIL') [c](http://x (EVIL))`, "[a](http://x) [b](http://x) [c](http://x)"},
		{"title of lines", "[a](http://x\n\"EVIL\nEVIL\")", "[a](http://x)"},
		{"comment definition", "[//]: # (EVIL)\n[//]: # \"EVIL\"\n[comment]: <> (EVIL)\nx", "\n\n\nx"},
		{"used comment definition", "[//] x\n\n[//]: # (EVIL)", "[//] x\n\n"},
		{"unused definition", "a\n\n[EVIL]: EVIL\n> - [EVIL]: EVIL 'EVIL'\n", "a\n\n\n> - \n"},
		{"unused definitions, odd", "[EVIL\\]x]: EVIL\n[EVIL]: EVIL \t\nx", "\n\nx"},
		{"used definition", "[a]\n\n[a]: http://x 'EVIL'\n[A]: http://EVIL", "[a]\n\n[a]: http://x\n"},
		{"definition of lines", "[a]\n\n[a]:\n  http://x\n  'EVIL\n EVIL'\nb", "[a]\n\n[a]:\n  http://x\nb"},
		{"hidden label", "[a][EVIL] x\n\n[EVIL]: http://x", "[a](http://x) x\n\n"},
		{"unused footnote", "a[^1]\n\n[^1]: b\n\n[^2]: EVIL\nEVIL\n\n    EVIL\n\nc", "a[^1]\n\n[^1]: b\n\n\n\nc"},
		{"schemes", "[a](javascript:EVIL) <data:EVIL> [b](HTTP://x) <mailto:a@b.c> <a@b.c>", "[a] [link removed] [link removed] [b](HTTP://x) <mailto:a@b.c> <a@b.c>"},
		{"odd schemes", "[a](x+y.z-09:EVIL) [b](x&colon;EVIL) <javascript:EVIL@b.c> <js:EVIL>", "[a] [link removed] [b] [link removed] [link removed] [link removed]"},
		{"invisible link", "x[](http://EVIL)[ ](EVIL)y", "x[link removed][link removed]y"},
		{"words as target", "[a](<EVIL EVIL>)", "[a]()"},
		{"words as target, no tag", "[a](<1 EVIL>)", "[a] [link removed]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, report := clean(c.text)
			if out != c.want {
				t.Errorf("%q becomes %q, want %q", c.text, out, c.want)
			}
			if twice, _ := clean(out); twice != out {
				t.Errorf("%q changes again to %q", out, twice)
			}
			if out != strings.ToValidUTF8(c.text, "") && len(report.Removed) == 0 && strings.Contains(c.text, evil) {
				t.Errorf("%s: the report is empty", c.name)
			}
		})
	}
}

// What a renderer takes in and does not show.
func TestSecurity4WhatARendererHidesIsRemoved(t *testing.T) {
	for _, c := range []struct{ name, text, want, class string }{
		{"comment of a diagram", "a\n```mermaid\ngraph TD\n%% EVIL\nA-->B\n```\nb", "a\n[diagram: 3 lines]\nb", sanitize.Diagram},
		{"diagram with words behind", "~~~~ Mermaid EVIL\n%% EVIL\n```\n~~~~", "[diagram: 2 lines]", sanitize.Diagram},
		{"diagram in a list", "- a\n- ```mermaid\n  %% EVIL\n  ```\n- b", "- a\n- [diagram: 1 lines]\n- b", sanitize.Diagram},
		{"diagram in a quote", "> ```mermaid\n> %% EVIL\n> ```\nb", "> [diagram: 1 lines]\nb", sanitize.Diagram},
		{"diagram without end", "a\n\n```mermaid\n%% EVIL\n\nEVIL", "a\n\n[diagram: 3 lines]", sanitize.Diagram},
		{"empty diagram", "```mermaid\n```", "[diagram: 0 lines]", sanitize.Diagram},
		{"properties of a map", "```geojson\n{\"properties\": {\"x\": \"EVIL\"}}\n```", "[diagram: 1 lines]", sanitize.Diagram},
		{"map of arcs", "```topojson\n{\"EVIL\": 1}\n```", "[diagram: 1 lines]", sanitize.Diagram},
		{"name of a solid", "```stl\nsolid EVIL\nendsolid\n```", "[diagram: 2 lines]", sanitize.Diagram},
		{"block of mathematics", "```math\na % EVIL\n```", "[diagram: 1 lines]", sanitize.Diagram},
		{"diagram in HTML", "<pre lang=\"mermaid\"><code>%% EVIL\n</code></pre>b", "[diagram: 2 lines]b", sanitize.Diagram},
		{"code about diagrams", "````markdown\n```mermaid\n%% shown\n```\n````", "````markdown\n```mermaid\n%% shown\n```\n````", ""},
		{"words about diagrams", "mermaid and `stl` and ```` ```mermaid ````", "mermaid and `stl` and ```` ```mermaid ````", ""},

		{"cells beyond the head", "| a | b |\n|---|---|\n| 1 | 2 | EVIL | EVIL |\n| 3 |\n\n| x | y | z |", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |\n\n| x | y | z |", sanitize.Cell},
		{"cells without outer bars", "a | b\n:-: | -\n1 | 2 | EVIL\nc", "a | b\n:-: | -\n1 | 2 |\nc", sanitize.Cell},
		{"one column", "| a |\n| - |\n| 1 | EVIL |", "| a |\n| - |\n| 1 |", sanitize.Cell},
		{"cells in a list", "- | a |\n  | - |\n  | 1 | EVIL |", "- | a |\n  | - |\n  | 1 |", sanitize.Cell},
		{"cells in a quote", "> | a |\n> | - |\n> | 1 | EVIL |", "> | a |\n> | - |\n> | 1 |", sanitize.Cell},
		{"bar in code of a cell", "| a |\n| - |\n| `1 | EVIL` |", "| a |\n| - |\n| `1 |", sanitize.Cell},
		{"escaped bar", "| a |\n| - |\n| 1 \\| 2 |", "| a |\n| - |\n| 1 \\| 2 |", ""},
		{"bars without a table", "a | b\n\n1 | 2 | 3\n\n| a |\n| - | - |\n| 1 | 2 | 3 |", "a | b\n\n1 | 2 | 3\n\n| a |\n| - | - |\n| 1 | 2 | 3 |", ""},
		{"table in code", "```\n| a |\n| - |\n| 1 | 2 |\n```", "```\n| a |\n| - |\n| 1 | 2 |\n```", ""},
		{"heading after a table", "| a |\n| - |\n# 1 | 2 | 3", "| a |\n| - |\n# 1 | 2 | 3", ""},

		{"phantom", "$x\\phantom{EVIL {EVIL} \\} EVIL}y$", "$x[removed]y$", sanitize.Math},
		{"phantoms of letters", "$\\hphantom E\\vphantom V$", "$[removed][removed]$", sanitize.Math},
		{"phantom without end", "$x\\phantom{EVIL\n\ny$", "$x[removed]\n\ny$", sanitize.Math},
		{"label", "$$x \\label {EVIL}$$", "$$x [removed]$$", sanitize.Math},
		{"definition", "$\\def\\x{EVIL} \\newcommand{\\y}[1]{EVIL}z$", "$[removed] [removed]z$", sanitize.Math},
		{"style", "$\\style{EVIL}{EVIL}z$", "$[removed]z$", sanitize.Math},
		{"choice", "$\\mathchoice{a}{EVIL}{EVIL}{EVIL}z$", "$[removed]z$", sanitize.Math},
		{"mathematics in code", "$`x\\phantom{EVIL}`$", "$`x[removed]`$", sanitize.Math},
		{"comment in mathematics", "$$\nx % EVIL\ny\n$$ and $a%EVIL$b", "$$\nx [removed]\ny\n$$ and $a[removed]$b", sanitize.Math},
		{"commands in code", "`\\phantom{x}` and\n```tex\n\\phantom{x} % y\n```", "`\\phantom{x}` and\n```tex\n\\phantom{x} % y\n```", ""},
		{"paths", `C:\data\x \style and \label`, `C:\data\x \style and \label`, ""},
		{"between formulas", "$$a$$ 100% sure $$b$$ and $a$ 10% b $c$", "$$a$$ 100% sure $$b$$ and $a$ 10% b $c$", ""},
		{"money", "costs $5 and 10% of $7 at $$", "costs $5 and 10% of $7 at $$", ""},
		{"percent in mathematics", "$5 \\% x$", "$5 \\% x$", ""},

		{"parentheses of readings", "<ruby>a<rp>EVIL</rp><rt>b</rt><rp>EVIL</ruby>c", "a" + "b" + "c", sanitize.Tag},
		{"replacements of media", "<video>EVIL</video><noscript>EVIL</noscript><datalist>EVIL</datalist><dialog>EVIL</dialog>x", "x", sanitize.Tag},
		{"second footnote of a name", "a[^1]\n\n[^1]: b\n\n[^1]: EVIL\n", "a[^1]\n\n[^1]: b\n\n", sanitize.Link},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, report := clean(c.text)
			if out != c.want {
				t.Errorf("%q becomes %q, want %q", c.text, out, c.want)
			}
			if twice, _ := clean(out); twice != out {
				t.Errorf("%q changes again to %q", out, twice)
			}
			if c.class != "" && report.Removed[c.class] == 0 || c.class == "" && len(report.Removed) > 0 {
				t.Errorf("removed %v", report.Removed)
			}
		})
	}
}

// Text that GitHub hides although it looks like code at first sight.
func TestSecurity4HiddenTextInPretendedCodeIsRemoved(t *testing.T) {
	const comment, hidden = "<!-- EVIL -->", "\n<!-- EVIL -->\n"
	for name, text := range map[string]string{
		"fence in an HTML block":              "<div>\n```" + hidden + "```",
		"fence in pre":                        "<pre>\n\n```" + hidden + "```\n</pre>",
		"fence in pre in a list":              "- <pre>\n\n```" + hidden + "```",
		"closing fence as opening":            "x\n```\ncode\n\n```" + hidden + "```",
		"fence not closed":                    "\n```" + hidden,
		"closed by another mark":              "\n```" + hidden + "~~~",
		"closed by a shorter one":             "\n````" + hidden + "```",
		"closed with words":                   "\n```" + hidden + "``` x",
		"fence ended by its list":             "- a\n\n  ```" + hidden + "  ```",
		"fence of a list item":                "- ```\n  ```\n  <!-- EVIL -->\n  ```",
		"fence after what may be HTML":        "5 <b>x</b>\n```\ncode\n\n```" + hidden + "```",
		"fence closed at the margin":          "\n ```\ncode\n\n```" + hidden + "```",
		"fence in a false list item":          ". ```\n  ```\nplain\n\n```" + hidden + "```",
		"fence in a false list":               "x\n2. ```\n   ```\nplain\n\n```" + hidden + "```",
		"fence left of a list":                "- ```\n ```\nplain\n\n```" + hidden + "```",
		"fence after a list has ended":        "- ```\n x\n  ```\nplain\n\n```" + hidden + "```",
		"fence after a quote":                 "> ```\n  ```\nplain\n\n```" + hidden + "```",
		"fence in list and quote":             "- > ```\n  ```\nplain\n\n```" + hidden + "```",
		"code in pre":                         "<pre>\n\n`<!-- EVIL -->`\n</pre>",
		"code after a comment":                "<!-- a --> `<!-- EVIL -->`",
		"fence of a quote":                    "> ```" + hidden + "> ```",
		"fence in a paragraph, indented":      "x\n    ```\n    a ``` " + comment + "\n    ```",
		"fence opened in a comment":           "<!-- \n\n```\n -->" + hidden + "```",
		"lines by separators":                 "<div>\u2028\u2028```\u2028" + comment + "\u2028```",
		"blank line by reference":             "<div>\n&shy;\n```" + hidden + "```",
		"blank line by a space":               "<div>\n\u00a0\n```" + hidden + "```",
		"blank line by zero width":            "<div>\n\u200b\n```" + hidden + "```",
		"fence by reference":                  "&#96;``" + hidden + "```",
		"code in an HTML block":               "<div>\n`" + comment + "`",
		"code by reference":                   "&#96; " + comment + " &#96;",
		"code by Greek":                       "\u1fef " + comment + " \u1fef",
		"escaped backtick":                    "\\` " + comment + " `",
		"escape by reference":                 "&#92;` a ` " + comment + " `",
		"backtick in an attribute":            "x <b title='`'> " + comment + " `",
		"backtick in an address":              "<a`@b.c> " + comment + " `",
		"backtick in a link":                  "<http://`> " + comment + " `",
		"backticks of a cell":                 "|a|b|\n|-|-|\n| ` | " + comment + " ` |",
		"cells, then code":                    "`a|b` " + comment + " `c`",
		"code of two lines":                   "`a\nb` " + comment + " `c`",
		"code of two blocks":                  "`a\n- b " + comment + " `",
		"longer run":                          "`a`` " + comment + " `` b",
		"backtick in a false tag":             "x <foo,bar x` y> x ` " + comment + " `",
		"definition":                          "[a]: x \"` EVIL `\"",
		"fence of a long number":              "1234567890. ```\n` ``` <!-- EVIL --> ` x",
		"fence of no list":                    ". ```\n` ``` <!-- EVIL --> ` x",
		"fence of no list, in a paragraph":    "x\n     - ```\n` ``` <!-- EVIL --> ` x",
		"text indented as code":               "x\n    ```\n` ``` <!-- EVIL --> ` x",
		"text of a list indented as code":     "- ```\n  ```\n  x\n      ```\n  ` ``` <!-- EVIL --> ` x",
		"fence with a backtick behind":        "```a`b" + hidden + "```",
		"fence in a nested list":              "- - ```\n    y\n\n    ```\n    <!-- EVIL -->\n    ```",
		"code after an end tag":               "</div>\n`<!-- EVIL -->`",
		"backtick in an address, then code":   "x <a`@b.c> `<!-- EVIL -->`",
		"backtick in an attribute, then code": "x <b title='`'> `<!-- EVIL -->`",
		"backtick in a link, then code":       "<http://`> `![EVIL](x)`",
		"code after the end of pre":           "<pre>\n\nx</pre> `<!-- EVIL -->`",
		"fence that pre holds":                "<pre>\n\n```\n</pre>\n[a](b \"EVIL\")\n```",
		"raw continues after a false fence":   "x <pre>\n\n```\ny\n```\n\n```" + hidden + "```",
	} {
		t.Run(name, func(t *testing.T) {
			if out, _ := clean(text); strings.Contains(out, evil) {
				t.Errorf("%q becomes %q", text, out)
			}
		})
	}
}

func TestGitHub44VisibleTextStays(t *testing.T) {
	for name, text := range map[string]string{
		"prose":                 "# Title\n\nSome *text*, a < b && b > c, 1 << 2, a <- b, <3, I </3\n\n- [ ] task\n- [x] done\n",
		"generic":               "Vec<u8> and HashMap<String, Vec<u8>>, List<T>, vector<std::string>, Foo<&'a str>, Box<a_b>",
		"fence":                 "Steps:\n\n```html\n<div class=\"x\" onclick='y()'><!-- stays --><img src=x></div>\n<!--\n![a](b \"c\")\n[//]: # (x)\n```\n\nmore",
		"fence after text":      "Steps:\n```html\n<!-- stays -->\n```\nmore\n\n~~~~\n<b x>\n~~~\n~~~~\n",
		"fence in a list":       "1. do\n\n   ```sh\n   cat <a >b # <!-- x -->\n   ```\n2. then",
		"fences after quotes":   "> ```\n> x\n> ```\n\nplain\n\n```\n<!-- stays -->\n```",
		"fence after a list's":  "- ```\n  x\n  ```\n\nplain\n\n   ```\n   <!-- stays -->\n   ```",
		"fence after others":    "1. a\n   - ```\n     x\n     ```\n> ```\n> x\n\n2. ```\n   y\n   ```\nplain\n\n```\n<!-- stays -->\n```",
		"fence after a quote's": "> ```\n```\n<!-- stays -->\n```",
		"link over paragraphs":  "[a\n\nb](x \"y\")",
		"two fences":            "a\n```\n<!--\n```\nb\n\n```\n-->\n```",
		"stray comment mark":    "```\n<!--\n```\n\nvisible",
		"inline code":           "The `<!--` mark, `<div class=x>` and ``a ` <b c>`` stay; `![x](y)` too.",
		"code in paragraphs":    "<b>x</b>\n\n`<b c>` <https://x.y> `1.![x](y)` <pre>x</pre>\n\n`<b c>`",
		"fences at once":        "2. ```\n   x\n   ```\n\nplain\n\n```\n<!-- stays -->\n```",
		"fence after a margin":  "- ```\n  x\n  ```\n```\n<!-- stays -->\n```",
		"fence of a wide list":  "-    ```\n     x\n     ```\n\n   ```\n   <!-- stays -->\n   ```",
		"fence of a long list":  "123456789. ```\n           x\n           ```\n\n   ```\n   <!-- stays -->\n   ```",
		"fence after > indents": "> ```\n> x\n> ```\n\n  ```\n  <!-- stays -->\n  ```\nx\n   ```\n   <!-- stays -->\n   ```",
		"languages":             "``` c++\nx\n```\n\n~~~asp.net_x-1#\n``` x y\n~~~\n- ```sh\n  x\n  ```",
		"unfinished tags":       "x <b\n\na <c d='e\n\nf'> g <a@b\n\n</ h </\n\n1 <! 2\n\n3 > 4",
		"no definitions":        "- [ ]: task\n[a]:\n\nb\n[c]: http://x 'd' e\n[f](g\n\n\"h\") [i](1j:k) [l](docs/x.md#y:z)",
		"link":                  "[a](http://x/y_(z)) [b](docs/x.md#y) [c] [d][e] <https://x.y/z> mailto:a@b.c",
		"used definition":       "See [a] and [b][].\n\n[a]: http://x\n[b]: docs/b.md\n",
		"footnote":              "a[^1]\n\n[^1]: see [x](http://y)\n",
		"looks like one":        "[note]: this is text\n[BUG]: it fails\n",
		"tables":                "| a | b |\n|---|---|\n| `x` | <br> |\n",
		"details":               "<details>\n<summary>Log</summary>\n\n```\nx\n```\n\n</details>\n",
		"Hindi":                 "क्षेत्र हिन्दी",
		"math":                  "if i <n and j> m then x[i](y) = z",
	} {
		t.Run(name, func(t *testing.T) {
			want := text
			if name == "math" {
				want = "if i  m then x[i](y) = z" // a tag for GitHub too
			}
			out, report := clean(text)
			if out != want {
				t.Errorf("%q becomes %q", text, out)
			}
			if report.Suspicious || report.Refused {
				t.Errorf("report is %+v", report)
			}
		})
	}
}

func TestGitHub44ShapingCharactersAreNotCounted(t *testing.T) {
	for name, text := range map[string]string{
		"Persian": "می\u200cخواهم",
		"Hindi":   "क्\u200dष",
		"emoji":   "👩\u200d👩\u200d👧 ❤\ufe0f 🏳\ufe0f\u200d🌈 1\ufe0f",
	} {
		t.Run(name, func(t *testing.T) {
			out, report := clean(strings.Repeat(text, 100))
			if report.Suspicious || len(report.Removed) != 0 {
				t.Errorf("report is %+v", report)
			}
			if strings.ContainsAny(out, "\u200c\u200d\ufe0f") {
				t.Errorf("%s: they are still there", name)
			}
		})
	}
	for name, text := range map[string]string{
		"joiner in Latin": "a\u200db", "variant of a letter": "a\ufe0f", "joiner at the end": "می\u200c", "joiner behind an emoji": "👩\u200da",
	} {
		t.Run(name, func(t *testing.T) {
			if _, report := clean(text); report.Removed[sanitize.Invisible] != 1 {
				t.Errorf("report is %+v", report)
			}
		})
	}
}

func TestReportCountsByClass(t *testing.T) {
	_, report := clean("<!-- a --><b c>\u200b\u202a\u202e\u2066\u2069&#65;![x](y)[a](b \"c\")<form>")
	data, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"removed":{"attribute":1,"bidi":4,"comment":1,"entity":1,"image":1,"invisible":1,"link":1,"tag":1},"cut_bytes":0}`
	if string(data) != want {
		t.Errorf("report is %s, want %s", data, want)
	}
	_, report = clean("nothing")
	if data, _ := json.Marshal(report); string(data) != `{"removed":{},"cut_bytes":0}` {
		t.Errorf("report is %s", data)
	}
}

func TestGitHub44ManyInvisibleCharactersAreSuspicious(t *testing.T) {
	for n, want := range map[int]bool{64: false, 65: true} {
		if _, report := clean(strings.Repeat("a\u200b", n)); report.Suspicious != want {
			t.Errorf("%d invisible characters: %v", n, report.Suspicious)
		}
	}
	var sum sanitize.Report
	for range 3 {
		_, report := clean(strings.Repeat("a\u200b", 30))
		report.CutBytes = 5
		sum.Add(report)
	}
	if !sum.Suspicious || sum.CutBytes != 15 || sum.Removed[sanitize.Invisible] != 90 {
		t.Errorf("sum is %+v", sum)
	}
}

func TestTextThatHidesTooDeeplyIsRefused(t *testing.T) {
	text := "EVIL &#65;"
	for range 12 {
		text = strings.ReplaceAll(text, "&", "&#&#51;8;")
	}
	out, report := clean(text)
	if out != "[removed]" || !report.Refused {
		t.Errorf("got %q, %+v", out, report)
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		" [BUG]: it\n\tfails ":             "[BUG]: it fails",
		"Vec<u8> <!-- EVIL -->x":           "Vec<u8> [removed]x",
		"a\u202eb\u00a0 \u200b c":          "ab c",
		"[a](http://x \"title\")":          "[a](http://x \"title\")",
		"\r\n":                             "",
		"`code` and &#72;i &nbsp;":         "`code` and Hi",
		"<Button> in </form> <br/>":        "<Button> in </form> <br/>",
		"<title> of <script>":              "<title> of <script>",
		"<b title='EVIL'>x <img alt=EVIL>": "<b>x [image removed]",
		"[Bug]: Crash":                     "[Bug]: Crash",
	} {
		out, _ := cleanLine(text)
		if out != want {
			t.Errorf("%q becomes %q, want %q", text, out, want)
		}
		if twice, _ := cleanLine(out); twice != out {
			t.Errorf("%q changes again to %q", out, twice)
		}
	}
}

func TestCut(t *testing.T) {
	short, _ := sanitize.Sanitize("short")
	if out, n := sanitize.Cut(short, 5); out != short || n != 0 {
		t.Errorf("got %q, %d", out.String(), n)
	}
	text := strings.Repeat("é", 100)
	long, _ := sanitize.Sanitize(sanitize.Raw(text))
	for limit := 20; limit < 200; limit++ {
		part, n := sanitize.Cut(long, limit)
		out := part.String()
		kept, notice, ok := strings.Cut(out, "[cut: ")
		if !ok || len(out) > limit || len(kept)+n != len(text) || notice != strings.TrimPrefix(notice, "0") {
			t.Fatalf("limit %d: %q, %d", limit, out, n)
		}
		if kept != text[:len(kept)] || len(kept)%2 != 0 {
			t.Fatalf("limit %d: a character is cut in two: %q", limit, out)
		}
	}
}

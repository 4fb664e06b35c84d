package markdown_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/pulltext"
	"github.com/agentmux/agentmux/internal/redact"
)

// foreign maps lines of agents and people to what stands in a comment.
var foreign = map[string]string{
	"plain words":                      "plain words",
	"@all fixes #7 <!-- agentmux":      "`@all` fixes `#7` &lt;!-- agentmux",
	"see octo/widgets#12, GH-3":        "see `octo/widgets#12`, `GH-3`",
	"a1b2c3d4 and deadbeef":            "`a1b2c3d4` and `deadbeef`",
	"mail me@corp.example":             "mail `me@corp.example`",
	"<b>x</b> Vec<u8>":                 "&lt;b>x&lt;/b> Vec&lt;u8>",
	"`@all` stays":                     "`@all` stays",
	"a ` lone, `@all`":                 "a ` lone, ` `@all`\\`",
	"\\`@all`":                         "\\` `@all`\\`",
	"\\@all \\#7":                      "`@all` `#7`",
	"&#64;all &commat;all":             "&`#64`;all &amp;commat;all",
	"https://evil.example/x":           "`https://evil.example/x`",
	"https://docs.example.com/a":       "https://docs.example.com/a",
	"https://github.com/o/r/issues/1":  "`https://github.com/o/r/issues/1`",
	"www.evil.example":                 "`www.evil.example`",
	"[t](https://docs.example.com/a)":  "[t](https://docs.example.com/a)",
	"[@x](https://docs.example.com/a)": "[`@x`](https://docs.example.com/a)",
	"[t](https://evil.example/a)":      "\\[t\\](`https://evil.example/a`)",
	"[t\\](//evil.example)":            "\\[t\\](//evil.example)",
	"[t](//evil.example)":              "\\[t\\](//evil.example)",
	"[t]: //evil.example":              "\\[t\\]: //evil.example",
	"![i](https://docs.example.com/a)": "!\\[i\\](https://docs.example.com/a)",
	"~~~":                              "\\~\\~\\~",
	"\\0@0 C:\\dir":                    "\\\\`0@0` C:\\\\dir",
	"_a1b2c3d_ 1http://x":              "_`a1b2c3d`_ `1http://x`",
	"GH\\-1 \\_@x \\+@x":               "`GH-1` `_@x` `+@x`",
	"\\# a \\#1 1\\. b www\\.c www.":   "\\# a `#1` 1\\. b `www.c` `www`.",
	"x@.example":                       "`x@.example`",
	"$x$ is $HOME/a, $`y`$":            "`$x$` is `$HOME/a`, `$` `y` `$`",
	"\\$x\\$ costs $(five).":           "`$x$` costs `$(five)`.",
	"[!NOTE] \\[!TIP\\]":               "`[!NOTE]` `[!TIP]`",
	"[^1] [^#2] [x] done":              "\\[^1] \\[^`#2`] [x] done",
	"https://github.com/a`@x`":         "https://github.com/a `@x`",
	"https://github.com/a\\`b":         "https://github.com/a \\`b",
	"https://github.com/a>b @x":        "`https://github.com/a`>b `@x`",
	"(https://github.com/a).":          "(https://github.com/a).",
	"[a https://github.com/@x":         "\\[a `https://github.com/@x`",
}

func TestSecurity24ForeignLineIsInert(t *testing.T) {
	for in, want := range foreign {
		t.Run(in, func(t *testing.T) {
			got := markdown.NeutralLine(in)
			if got != want {
				t.Errorf("%q\n got %s\nwant %s", in, got, want)
			}
			if live := alive(got); live != "" {
				t.Errorf("%q: %q is live in %s", in, live, got)
			}
		})
	}
}

func TestSecurity24ForeignBlockKeepsItsCodeInsideFences(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"closed":              {"a\n```go\n@x #1\n```\nb @y", "a\n\n```go\n@x #1\n```\n\nb `@y`"},
		"open":                {"a\n```\n@x", "a\n\n```\n@x\n```"},
		"longer inside":       {"~~~~\n```\n@x\n```\n~~~~", "````\n```\n@x\n```\n````"},
		"suggested change":    {"```suggestion\nx\n```", "```text\nx\n```"},
		"bar in a table":      {"a | b\n-|-\n`c|d\\|e` @x | f", "a | b\n-|-\n`c\\|d\\|e` `@x` | f"},
		"bar elsewhere":       {"`a|b`", "`a|b`"},
		"code of columns":     {"    # a\n", "    # a"},
		"picture language":    {"```mermaid\ngraph\n```", "```text\ngraph\n```"},
		"strange language":    {"```go onload=x\nx\n```", "```go\nx\n```"},
		"fence in a list":     {"- a\n  ```\n@x", "- a\n\n```\n@x\n```"},
		"four columns in":     {"    ```\n@x", "    \\`\\`\\`\n`@x`"},
		"quoted fence":        {"> ```\n@x", "> \\`\\`\\`\n`@x`"},
		"code over two lines": {"a ` b\nc ` @x", "a \\` b\nc \\` `@x`"},
	} {
		t.Run(name, func(t *testing.T) {
			got := markdown.NeutralBlock(tc.in)
			if got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// A text cut between two comments is harmless in both, so no line of prose may be too long.
func TestSecurity24LongForeignLinesAreCutBeforeTheyAreMarked(t *testing.T) {
	for _, text := range []string{strings.Repeat("`@all` ", 3000), strings.Repeat("@", 20_000), strings.Repeat("a1b2c3d", 3000), "```\n" + strings.Repeat("@all ", 4000)} {
		got := markdown.NeutralBlock(text)
		if live := alive(got); live != "" {
			t.Errorf("%q is live in %.100s", live, got)
		}
		for line := range strings.Lines(got) {
			if n := markdown.Units(line); n > 20_000 && !strings.HasPrefix(text, "```") {
				t.Errorf("a line of %d units in %.100s", n, got)
			}
		}
	}
	for _, part := range []string{"&#@", "`|`", "a"} {
		if n := markdown.Units(markdown.NeutralCell(strings.Repeat(part, 20_000/len(part)))); n > 18_000 {
			t.Errorf("a cell of %d units", n)
		}
	}
	for in, want := range map[string]string{
		"# a": `\# a`, "- a": `\- a`, "3. a": `3\. a`, "-|-": `\-|-`, "===": `\===`, "> a": `\> a`, "-1 is 1.5": "-1 is 1.5", ":-|-": `\:-|-`,
	} {
		t.Run(in, func(t *testing.T) {
			if got := markdown.NeutralInline(in); got != want {
				t.Errorf("%q: got %s, want %s", in, got, want)
			}
		})
	}
}

// What stands for a secret is no text of a link, whatever stood around the secret.
func TestSecurity24RedactedTextIsNoLink(t *testing.T) {
	token := "ghp_" + strings.Repeat("Ab3dEf7h", 5)
	got := markdown.Finish(redact.New(), "!"+token+"(//evil.example/i.png) and\n"+token+": //evil.example").String()
	if want := "![redacted:github-token] (//evil.example/i.png) and\n[redacted:github-token] : //evil.example"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCodeSpanHoldsAnything(t *testing.T) {
	for in, want := range map[string]string{
		"a": "`a`", "a`b": "``a`b``", "`a`": "`` `a` ``", "a\nb": "`a b`", "": "", "```": "```` ``` ````",
	} {
		t.Run(in, func(t *testing.T) {
			if got := markdown.CodeSpan(in); got != want {
				t.Errorf("%q: got %s, want %s", in, got, want)
			}
		})
	}
}

func TestSecurity24TitlesHaveNoReferences(t *testing.T) {
	for in, want := range map[string]string{
		"fix @x and #7":       "fix (at)x and no. 7",
		"see octo/widgets#12": "see octo/widgets no. 12",
		"closes GH-3":         "closes no. 3",
		"https://github.com/o/r/issues/9 is done": "github.com/o/r no. 9 is done",
		"xhttps://github.com/o/r/pull/9":          "xgithub.com/o/r no. 9",
		"two\nlines\t here":                       "two lines here",
		"<!-- agentmux":                           "(!-- agentmux",
	} {
		t.Run(in, func(t *testing.T) {
			if got := markdown.PlainTitle(in); got != want {
				t.Errorf("%q: got %q, want %q", in, got, want)
			}
		})
	}
	for in, want := range map[string]string{
		"a @x\n\nfixes #1\n":         "a (at)x\n\nfixes no. 1\n",
		"x: y\n---\na -- b":          "x: y\n ---\na -- b",
		"x: y\n\n# ---- >8 ----\nz":  "x: y\n\n # ---- >8 ----\nz",
		"a\x1b[31m\u202e@\u200bx\tb": "a[31m(at)x\tb",
	} {
		t.Run(in, func(t *testing.T) {
			if got := markdown.PlainMessage(in); got != want {
				t.Errorf("%q: message %q, want %q", in, got, want)
			}
		})
	}
}

// What steers the automation of a service, and who wrote, is the host's to say.
func TestSecurity24MessagesSteerNoAutomation(t *testing.T) {
	for in, want := range map[string]string{
		"fix: x [skip ci]": "fix: x (skip ci)", "[ CI  Skip ] x": "(CI Skip) x", "x [no ci]": "x (no ci)", "x [skip-ci]": "x (skip-ci)",
		"x [actions skip][skip actions]": "x (actions skip)(skip actions)", "x [CF-Pages-Skip]": "x (CF-Pages-Skip)",
		"x [skip netlify]": "x (skip netlify)", "x ***NO_CI***": "x NO_CI", "x *** no_ci ***": "x no_ci", "x [s\u200bkip ci]": "x (skip ci)",
		"Co-authored-by: Eve <eve@example.com>": "", "skip-checks: true": "", "Agentmux-Session: x": "",
		"docs: what a co-author does": "docs: what a co-author does", "[skip] x [noise] y [ci]": "[skip] x [noise] y [ci]",
	} {
		t.Run(in, func(t *testing.T) {
			if got := markdown.PlainTitle(in); got != want {
				t.Errorf("%q: title %q, want %q", in, got, want)
			}
		})
	}
	for in, want := range map[string]string{
		"a [skip\nci] b": "a (skip\nci) b",
		"a\n\nCo-Authored-By: Eve <eve@example.com>\n  and on\nSigned-off-by : Eve\n> Reviewed-by: Eve\nskip-checks:true\nChange-Id: I1\nb": "a\n\nb",
		"a\n  Agentmux-Session: other\nCc: all\nCo-\u200bauthored-by: Eve\nIn-Session: x":                                                   "a",
		"Non-goals: none\nNote: the order\nfixes: the crash\nco-author by name":                                                             "Non-goals: none\nNote: the order\nfixes: the crash\nco-author by name",
	} {
		t.Run(in, func(t *testing.T) {
			if got := markdown.PlainMessage(in); got != want {
				t.Errorf("%q: message %q, want %q", in, got, want)
			}
		})
	}
	body := pulltext.Render(pulltext.Body{Session: "s", Seq: 1, Server: "https://github.com", Request: "Do it [skip ci]", Summary: "Done ***NO_CI***"})
	if strings.Contains(body, "[skip ci]") || strings.Contains(body, "***NO_CI***") || !strings.Contains(body, "(skip ci)") {
		t.Error(body)
	}
}

var liveText = regexp.MustCompile(`(?i)@\w|#\d|\bGH-\d|<|\]\(|^\[[^\]]*\]:|https?://\w|www\.\w|(?:^|[^0-9a-z])[0-9a-f]{7,40}(?:$|[^0-9a-z])`)

// permitted are addresses that may be links. GitHub takes no mark at an address's end into
// the link.
var permitted = regexp.MustCompile(`(?i)(?:\]\()?https?://(?:docs\.example\.com|github\.com)(?:[/?#][^\s]*|[.,;:!?)'"]*(?:\s|$))`)

// alive returns what GitHub would make more of than text. It reads Markdown in its own way:
// fences at the first column, then code spans and escapes.
func alive(text string) string {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		body := strings.TrimLeft(line, " ")
		mark := body[:len(body)-len(strings.TrimLeft(body, "`"))]
		switch {
		case fence == "" && len(mark) >= 3 && !strings.Contains(body[len(mark):], "`"):
			fence = mark
			continue
		case fence != "":
			if len(mark) >= len(fence) && body == mark {
				fence = ""
			}
			continue
		}
		prose := proseOf(line)
		prose = permitted.ReplaceAllString(prose, " ")
		if live := liveText.FindString(prose); live != "" {
			return live
		}
	}
	if fence != "" {
		return "an open fence"
	}
	return ""
}

// proseOf drops code spans and escaped characters.
func proseOf(line string) string {
	var out strings.Builder
	for i := 0; i < len(line); {
		switch {
		case line[i] == '\\' && i+1 < len(line) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", line[i+1]) >= 0:
			i += 2
			out.WriteByte(' ')
		case line[i] == '`':
			run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			end := closing(line[i+run:], run)
			if end < 0 {
				i += run
				continue
			}
			i += run + end + run
			out.WriteByte(' ')
		default:
			out.WriteByte(line[i])
			i++
		}
	}
	return out.String()
}

func closing(s string, size int) int {
	for i := 0; i < len(s); {
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == size {
			return i
		}
		i += max(run, 1)
	}
	return -1
}

func FuzzForeignTextIsInert(f *testing.F) {
	for in := range foreign {
		f.Add(in)
	}
	f.Add("```\n@x\n````\n@y\n``` z")
	f.Add("[a\nb]: //evil\n[a b]")
	f.Add("` \\` ` @x `")
	f.Add("http://docs.example.com)")
	f.Fuzz(func(t *testing.T, in string) {
		got := markdown.NeutralBlock(in)
		if live := alive(got); live != "" {
			t.Errorf("%q: %q is live in\n%s", in, live, got)
		}
		if live := renderedLive(got); live != "" {
			t.Errorf("%q: %q is live once rendered\n%s", in, live, got)
		}
	})
}

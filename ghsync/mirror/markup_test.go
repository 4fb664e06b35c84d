package mirror_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	renderhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/ghsync/pulltext"
)

// gfm renders as comments on GitHub are: with tables, and a line break where the text has one.
var gfm = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(renderhtml.WithUnsafe(), renderhtml.WithHardWraps(), renderhtml.WithXHTML()))

// ownHTML is the raw HTML the program writes.
var ownHTML = regexp.MustCompile(`^(?:<details>(?:<summary>(?:[^<>]|<code>[^<>]+</code>)*</summary>)?|</details>|<summary>|</summary>|<!-- agentmux session=\S+ kind=\w+ seq=\d+(?: part=\S+)? -->)$`)

// elements are those a text of ours may have when rendered.
var elements = strings.Fields("h1 h2 h3 h4 h5 h6 p br hr strong em del code pre ul ol li blockquote a table thead tbody tr th td details summary input")

// loose is what GitHub would make a link of, or what would have been Markdown had it stood
// in another place.
var loose = regexp.MustCompile(`(?i)@[a-z0-9]|#\d|\bGH-\d|(?:^|[^0-9a-z])[0-9a-f]{7,40}(?:$|[^0-9a-z])|://|\bwww\.|\|\s*-{3}|^\s*\||^#{1,6} |\*\*|~~~|\[[^\]]*\]\(|<!--|-->`)

// meant are the references the program itself makes.
var meant = regexp.MustCompile(`(?i)\b(?:PR|pull request|Closes|Refs) #\d+\b`)

// markupProblems says what of a body GitHub would show in another way than it is meant.
func markupProblems(body string, hosts ...string) []string {
	source := []byte(body)
	problems := rawHTML(source)
	var page bytes.Buffer
	if err := gfm.Convert(source, &page); err != nil {
		return append(problems, err.Error())
	}
	dec := xml.NewDecoder(io.MultiReader(strings.NewReader("<body>"), &page, strings.NewReader("</body>")))
	dec.Strict, dec.Entity = false, xml.HTMLEntity
	var open []string
	inside := func(name string) bool { return slices.Contains(open, name) }
	comments, tables := 0, 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(problems, err.Error())
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "table" {
				tables++
			}
			if len(open) > 0 {
				problems = append(problems, elementProblems(token, hosts)...)
			}
			open = append(open, token.Name.Local)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != token.Name.Local {
				problems = append(problems, fmt.Sprintf("</%s> closes %v", token.Name.Local, open))
			}
			open = open[:max(0, len(open)-1)]
		case xml.Comment:
			if comments++; len(open) != 1 {
				problems = append(problems, fmt.Sprintf("the marker stands inside %v", open))
			}
		case xml.CharData:
			if rest := meant.ReplaceAllString(string(token), ""); !inside("code") && !inside("a") && loose.MatchString(rest) {
				problems = append(problems, fmt.Sprintf("%q in the text %q", loose.FindString(rest), token))
			}
		}
	}
	if comments != 1 {
		problems = append(problems, fmt.Sprintf("%d comments, want the marker alone", comments))
	}
	if want := strings.Count("\n"+body, "\n|---"); tables < want {
		problems = append(problems, fmt.Sprintf("%d tables of %d", tables, want))
	}
	return problems
}

// rawHTML reports HTML that is not ours.
func rawHTML(source []byte) (problems []string) {
	check := func(raw string) {
		for line := range strings.Lines(raw) {
			if line = strings.TrimSpace(line); line != "" && !ownHTML.MatchString(line) {
				problems = append(problems, "raw HTML "+line)
			}
		}
	}
	_ = ast.Walk(gfm.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.HTMLBlock:
			if entering {
				check(string(n.Lines().Value(source)))
				if n.HasClosure() {
					check(string(n.ClosureLine.Value(source)))
				}
			}
		case *ast.RawHTML:
			if entering {
				check(string(n.Segments.Value(source)))
			}
		}
		return ast.WalkContinue, nil
	})
	return problems
}

func elementProblems(e xml.StartElement, hosts []string) (problems []string) {
	name := e.Name.Local
	if !slices.Contains(elements, name) {
		problems = append(problems, "<"+name+">")
	}
	for _, a := range e.Attr {
		switch {
		case name == "details":
			problems = append(problems, "a fold that is "+a.Name.Local)
		case name == "a" && a.Name.Local == "href":
			if to, err := url.Parse(a.Value); err != nil || !slices.Contains(hosts, to.Host) {
				problems = append(problems, "a link to "+a.Value)
			}
		}
	}
	return problems
}

// shownBodies are all texts of the golden files, which TestGitHub47MirrorWrites holds against what is
// written, and bodies of pull requests, by name.
func shownBodies(t *testing.T) (names []string, bodies map[string]string) {
	t.Helper()
	bodies = map[string]string{}
	add := func(name, body string) { names, bodies[name] = append(names, name), body }
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		_, files := archive(t, path)
		for _, mode := range []mirror.CommentMode{mirror.Timeline, mirror.Every, mirror.Quiet} {
			n := 0
			for piece := range strings.SplitSeq(string(files["want/"+string(mode)]), "=== ") {
				head, body, _ := strings.Cut(piece, "\n")
				if strings.Contains(head, "comment") {
					n++
					add(fmt.Sprintf("%s, %s, %d: %s", strings.TrimSuffix(filepath.Base(path), ".txtar"), mode, n, head), strings.TrimSpace(body))
				}
			}
		}
	}
	add("pull request", pulltext.Render(wholeBody()))
	add("pull request, draft", pulltext.Render(openBody()))
	return names, bodies
}

// Set AGENTMUX_COMMENTS to a file and all texts are written there as one page.
func TestGitHub47RenderedTextsAreWhatTheyMean(t *testing.T) {
	names, bodies := shownBodies(t)
	if len(names) < 40 {
		t.Fatalf("%d texts", len(names))
	}
	kinds := map[string]bool{}
	for _, name := range names {
		marker, ok := ghsync.ParseMarker(bodies[name])
		kinds[marker.Kind] = ok
		for _, problem := range markupProblems(bodies[name], "github.com", "docs.example.com") {
			t.Errorf("%s: %s", name, problem)
		}
	}
	if len(kinds) != 4 {
		t.Errorf("kinds %v", kinds)
	}
	if file := os.Getenv("AGENTMUX_COMMENTS"); file != "" {
		writeFile(t, file, []byte(commentsPage(t, names, bodies)))
	}
}

func TestGitHub47MarkupThatIsNotMeantIsFound(t *testing.T) {
	const end = "\n\n<!-- agentmux session=s kind=status seq=1 -->"
	if got := markupProblems("### Title\n| a | b |\n|---|---|\n| `@x #1` | **b** |\n\n<details><summary>More</summary>\n\n[t](https://github.com/a)\n</details>"+end, "github.com"); got != nil {
		t.Errorf("problems of a plain text: %q", got)
	}
	for body, want := range map[string]string{
		"hello @all" + end:                                    "@a",
		"fixes #7" + end:                                      "#7",
		"at a41df31 now" + end:                                "a41df31",
		"see https://github.com.evil.example/x" + end:         "a link to",
		"![i](https://github.com/x.png)" + end:                "<img>",
		"[t](https://evil.example)" + end:                     "a link to",
		"text\n| a | b |\n|--|\n" + end:                       "|",
		"<b>bold</b>" + end:                                   "raw HTML",
		"<details open><summary>x</summary></details>" + end:  "raw HTML",
		"<details><summary>x</summary>\n\nnever closed" + end: "",
		"<details>\n| a |\n|---|\n| b |\n</details>" + end:    "raw HTML",
		"text\n<!-- hidden -->" + end:                         "raw HTML",
		"```\nopen" + end:                                     "0 comments",
		"text\n> " + strings.TrimSpace(end):                   "the marker stands inside",
	} {
		t.Run(body, func(t *testing.T) {
			got := markupProblems(body, "github.com")
			if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("%q has the problems %q, want %q", body, got, want)
			}
		})
	}
}

// commentsPage shows texts as people see them, about as wide as on GitHub.
func commentsPage(t *testing.T, names []string, bodies map[string]string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`<!doctype html><meta charset="utf-8"><title>comments</title><style>
body{font:14px/1.5 -apple-system,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif;color:#1f2328;max-width:830px;margin:16px auto}
section{border:1px solid #d1d9e0;border-radius:6px;padding:16px;margin:8px 0 24px}
h6.name{margin:0;color:#59636e;font-weight:400}
h1,h2,h3,h4{margin:24px 0 16px;font-weight:600;line-height:1.25} section>:first-child{margin-top:0}
h2{font-size:1.5em;border-bottom:1px solid #d1d9e0b3;padding-bottom:.3em} h3{font-size:1.25em} h4{font-size:1em}
p,ul,ol,table,blockquote,pre,details{margin:0 0 16px}
table{border-collapse:collapse;display:block;overflow:auto;max-width:100%;width:max-content}
th,td{border:1px solid #d1d9e0;padding:6px 13px} tr:nth-child(2n){background:#f6f8fa}
code{font:85% ui-monospace,monospace;background:#818b981f;border-radius:6px;padding:.2em .4em;white-space:break-spaces}
pre{background:#f6f8fa;border-radius:6px;padding:16px;overflow:auto} pre code{background:none;padding:0}
blockquote{color:#59636e;border-left:.25em solid #d1d9e0;padding:0 1em}
</style>`)
	for _, name := range names {
		var page bytes.Buffer
		if err := gfm.Convert([]byte(bodies[name]), &page); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "<h6 class=name>%s</h6><section>%s</section>\n", html.EscapeString(name), page.String())
	}
	return b.String()
}

// wholeBody has every part that a pull request may have.
func wholeBody() pulltext.Body {
	return pulltext.Body{
		Session: "20261121-100512-issue-12-add-retry", Seq: 58, Server: "https://github.com",
		NeedsLook: []string{"go.mod"}, Request: "Add retry\n\nPlease @all, fixes #1.\n```\ncode\n```", RequestAt: sceneStart,
		Digest: "9f2c41d07a3b8e6f", Asker: "octo-dev", Summary: "Retries with backoff. Closes #3, thanks @x.", Plan: "## Goal\nRetry.",
		Verdicts: []pulltext.Verdict{
			{Role: "reviewer_logic", Verdict: "pass", Commit: "b07d3e9000000000000000000000000000000000"},
			{Role: "reviewer_quality", Verdict: "pass", Summary: "Fine, see #4.\nMore."},
		},
		Issue: 12, Closes: true,
	}
}

// openBody is that of a draft whose last review failed.
func openBody() pulltext.Body {
	return pulltext.Body{Session: "s", Seq: 1, Exhausted: true, Issue: 12, Findings: []pulltext.Finding{
		{Role: "reviewer_logic", Severity: "high", Location: "a.go:1", Issue: "leaks <b>"},
	}, Template: "<!-- Say what\nand why. -->\n## Checklist\n- [ ] tests @team <!-- of it -->", Notes: []string{"2 submodules: agents see none of their content"}}
}

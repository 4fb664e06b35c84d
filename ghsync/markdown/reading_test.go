package markdown_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderhtml "github.com/yuin/goldmark/renderer/html"

	"github.com/agentmux/agentmux/ghsync/markdown"
)

// gfm renders as comments on GitHub are rendered. Addresses stay text: which of them GitHub
// would make a link of, goldmark decides in another way, and shownLive finds them all.
var gfm = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
	goldmark.WithRendererOptions(renderhtml.WithUnsafe(), renderhtml.WithHardWraps(), renderhtml.WithXHTML()))

// shownElements are those that neutral text may become.
var shownElements = strings.Fields("body h1 h2 h3 h4 h5 h6 p br hr strong em del code pre ul ol li blockquote a table thead tbody tr th td input")

// shownLive is what GitHub makes a mention, a reference or a link of in rendered text.
var shownLive = regexp.MustCompile(`(?i)@\w|#\d|\bGH-\d|https?://\w|www\.\w|(?:^|[^0-9a-z])[0-9a-f]{7,40}(?:$|[^0-9a-z])`)

// renderedLive returns what is live in a text once goldmark has rendered it, or "". Unlike
// alive it shares no rule of Markdown with the package.
func renderedLive(text string) string {
	var page bytes.Buffer
	if err := gfm.Convert([]byte(text), &page); err != nil {
		return err.Error()
	}
	dec := xml.NewDecoder(io.MultiReader(strings.NewReader("<body>"), &page, strings.NewReader("</body>")))
	dec.Strict, dec.Entity = false, xml.HTMLEntity
	var open []string
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !slices.Contains(shownElements, token.Name.Local) {
				return "<" + token.Name.Local + ">"
			}
			for _, a := range token.Attr {
				to, err := url.Parse(a.Value)
				if a.Name.Local == "href" && (err != nil || !slices.Contains([]string{"github.com", "docs.example.com"}, strings.ToLower(to.Host))) {
					return "a link to " + a.Value
				}
			}
			open = append(open, token.Name.Local)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != token.Name.Local {
				return "</" + token.Name.Local + ">"
			}
			open = open[:len(open)-1]
		case xml.Comment:
			return "a comment"
		case xml.CharData:
			if !slices.Contains(open, "code") && !slices.Contains(open, "a") {
				if live := shownLive.FindString(permitted.ReplaceAllString(string(token), " ")); live != "" {
					return live
				}
			}
		}
	}
}

func TestSecurity24NeutralTextIsInertWhenRendered(t *testing.T) {
	for in := range foreign {
		if got := markdown.NeutralBlock(in); renderedLive(got) != "" {
			t.Errorf("%q: %q is live in\n%s", in, renderedLive(got), got)
		}
	}
	for text, want := range map[string]string{
		"hello @all": "@a", "fixes #7": "#7", "see GH-3": "GH-3", "at a41df31 now": "a41df31", "<b>x</b>": "<b>",
		"![i](https://github.com/x.png)": "<img>", "[t](https://evil.example)": "a link to https://evil.example", "<!-- x -->": "a comment",
	} {
		if got := renderedLive(text); !strings.Contains(got, strings.TrimSpace(want)) {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}

// Package markdown knows what GitHub makes of a text: which characters become a mention, a
// reference, a link, an image, a heading or a tag, and how long a comment may be. It makes
// texts of agents and people harmless, as Markdown (Neutralizer), as a title and as a commit
// message, moves their headings below ours, and splits what is too long for one comment.
//
// A text passes three stages. Raw is as somebody else wrote it. A Neutralizer redacts it,
// takes out what nobody would see, and returns a harmless part of a draft. Finish turns the
// draft into a Text, and a client of GitHub takes nothing else for a body. Raw is not a string
// and Text has no exported field, so skipping a stage does not compile.
//
// It promises that what it returns does not mention anybody or refer to an issue, does not
// load a picture and links to the named hosts only, and that harmless text stays readable.
// It is pure: it reads and writes nothing.
//
// The Neutralizer reads lines, not a tree of CommonMark. What counts is how GitHub reads the
// result, and there the structure of the input is gone: fences move to the first column,
// brackets and "<" are escaped. In "[a](b`c) `@x`" a parser finds a link and then @x in code.
// With the link escaped, its backtick opens the code and @x is live. A fence in a list or a
// quotation ends with that for a parser; here it goes on to its own end, and text is more
// often code or escaped than it had to be. The tests read each result with goldmark.
package markdown

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentmux/agentmux/internal/sanitize"
)

// Neutralizer makes text of agents and people harmless in a comment: no tag, no image, no
// mention, no reference that GitHub would turn into a link or an event, links only to the
// hosts named. The text stays readable, and closed code fences keep their content.
type Neutralizer struct {
	hosts  []string            // lower case; host, or host:port
	Redact func(string) string // takes secrets out; nil: the text stays as it is
	tables bool                // the text may hold tables
}

// clean returns what of a text may be shown at all. Secrets are taken out before any markup
// is set, because markup between two pieces of a secret would hide it.
func (n Neutralizer) clean(text Raw) string {
	if n.Redact != nil {
		text = Raw(n.Redact(string(text)))
	}
	clean, _ := sanitize.Source(text) // Block makes code of drawings and formulas
	return clean.String()
}

// Name returns plain text, a path for instance, as inline code.
func (n Neutralizer) Name(text string) string {
	if n.Redact != nil {
		text = n.Redact(text)
	}
	return CodeSpan(Visible(text))
}

// New returns a Neutralizer that keeps links to the server, an address, and to linkHosts. Its
// Redact is unset.
func New(server string, linkHosts []string) Neutralizer {
	var n Neutralizer
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		n.hosts = append(n.hosts, strings.ToLower(u.Host))
	}
	for _, h := range linkHosts {
		n.hosts = append(n.hosts, strings.ToLower(h))
	}
	return n
}

// fence is an open code fence.
type fence struct {
	char byte
	size int
}

// Block neutralizes Markdown of several lines. Fences are set at the first column, between
// blank lines and longer than anything inside, so that no list or quote around them can
// end early and let their content out; one left open is closed.
func (n Neutralizer) Block(text Raw) string {
	var out []string
	add := func(lines ...string) {
		for _, line := range lines {
			if strings.TrimSpace(line) != "" || len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, line)
			}
		}
	}
	var open *fence
	var code []string
	info := ""
	lines := wrapped(strings.TrimRight(n.clean(text), "\n"))
	n.tables = slices.ContainsFunc(lines, underHead().MatchString)
	for _, line := range lines {
		if open != nil {
			if open.closes(line) {
				add("")
				out = append(out, CodeBlock(info, code)...)
				add("")
				open, code = nil, nil
				continue
			}
			code = append(code, line)
			continue
		}
		if f, tail := opensFence(line); f != nil {
			open, info = f, tail
			continue
		}
		add(n.line(line))
	}
	if open != nil {
		add("")
		out = append(out, CodeBlock(info, code)...)
	}
	return strings.TrimRight(strings.Join(out, "\n"), " \t\n")
}

// Section is Block for a text below a heading of ours: its own headings are moved below that
// one. What moved is cleaned again, because it may show more then.
func (n Neutralizer) Section(text Raw) string {
	return n.Block(Raw(nested(n.clean(text))))
}

// underHead is the line that makes a table of what is above and below, also in a list.
var underHead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-\s>*+.)\d:|]*\|[-\s>*+.)\d:|]*$`) })

// maxLine is the longest line of prose, in UTF-16 units. A comment that is split is cut
// between lines, because a part of one is not harmless by itself.
const maxLine = 4000

// wrapped returns the lines of a text and cuts those that are too long.
func wrapped(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for Units(line) > maxLine {
			head := Clip(line, maxLine)
			if i := strings.LastIndexByte(head, ' '); i > len(head)/2 {
				head = head[:i]
			}
			out = append(out, head)
			line = strings.TrimLeft(line[len(head):], " ")
		}
		out = append(out, line)
	}
	return out
}

// opensFence recognizes the start of a fence at most three columns in.
func opensFence(line string) (*fence, string) {
	body := strings.TrimLeft(line, " ")
	if len(line)-len(body) > 3 || body == "" || body[0] != '`' && body[0] != '~' {
		return nil, ""
	}
	tail := strings.TrimLeft(body, body[:1])
	f := &fence{char: body[0], size: len(body) - len(tail)}
	if f.size < 3 || f.char == '`' && strings.Contains(tail, "`") {
		return nil, ""
	}
	return f, language(tail)
}

func (f *fence) closes(line string) bool {
	body := strings.TrimLeft(line, " ")
	if len(line)-len(body) > 3 {
		return false
	}
	rest := strings.TrimLeft(body, string(f.char))
	return len(body)-len(rest) >= f.size && strings.TrimSpace(rest) == ""
}

// language is a fence's first word if it is a plain name. GitHub draws some languages as
// pictures or maps, or as a change to accept, instead of showing the text.
func language(tail string) string {
	fields := strings.Fields(tail)
	if len(fields) == 0 {
		return ""
	}
	word := strings.ToLower(fields[0])
	if len(word) > 20 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789+-_#.") != "" {
		return ""
	}
	switch word {
	case "mermaid", "geojson", "topojson", "stl", "math", "suggestion":
		return "text"
	}
	return word
}

// CodeBlock returns code between fences longer than any run of backticks in it.
func CodeBlock(info string, code []string) []string {
	longest := 2
	for _, line := range code {
		longest = max(longest, longestRun(line, '`'))
	}
	mark := strings.Repeat("`", longest+1)
	out := append([]string{mark + info}, code...)
	return append(out, mark)
}

func longestRun(s string, char rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != char {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// CodeSpan returns s as inline code, on one line. s may hold anything.
func CodeSpan(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return ""
	}
	mark := strings.Repeat("`", longestRun(s, '`')+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return mark + s + mark
}

// Inline neutralizes a text that has to stay on one line.
func (n Neutralizer) Inline(text Raw) string {
	return blockMark().ReplaceAllString(n.line(strings.Join(strings.Fields(n.clean(text)), " ")), `$1\$2$3`)
}

// blockMark is what at the start of a line makes it a heading, a list item, a quotation, a
// rule, or what is above it a heading or a table.
var blockMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{0,9})([-+*#>=|:.)])( |$|[-*#>=|:])`) })

// maxCell leaves room for the cells of others in a row that no comment may split, whatever
// marks it takes to make a cell harmless.
const maxCell = 18_000

// Cell is Inline for a table: a bar would start the next cell, also within code.
func (n Neutralizer) Cell(text Raw) string {
	return cell(text, n.Inline)
}

// cell cuts a text until it is short enough as show sets it.
func cell[T ~string](text T, show func(T) string) string {
	note := ""
	for room := maxCell; ; room /= 2 {
		if Units(text) > room {
			text, note = Clip(text, room), " [cut]"
		}
		if out := strings.ReplaceAll(show(text), "|", `\|`) + note; Units(out) <= maxCell || room == 0 {
			return out
		}
	}
}

// CodeCell is Name for a table.
func (n Neutralizer) CodeCell(text string) string {
	return cell(text, n.Name)
}

// Quote neutralizes a text and sets it as a quotation.
func (n Neutralizer) Quote(text Raw) string {
	lines := strings.Split(n.Block(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight("> "+line, " ")
	}
	return strings.Join(lines, "\n")
}

// Visible returns plain text without its invisible characters.
func Visible[T ~string](text T) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && sanitize.Forbidden(r) {
			return -1
		}
		return r
	}, Valid(string(text)))
}

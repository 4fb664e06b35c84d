package ghsync

import (
	"net/url"
	"strings"

	"github.com/agentmux/agentmux/internal/sanitize"
)

// neutralizer makes text of agents and people harmless in a comment: no tag, no image, no
// mention, no reference that GitHub would turn into a link or an event, links only to the
// hosts named. What it shows stays readable; what is in closed code fences stays as it is.
type neutralizer struct {
	hosts []string // lower case; host, or host:port
}

func newNeutralizer(server string, linkHosts []string) neutralizer {
	var n neutralizer
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

// block neutralizes Markdown of several lines. Fences are set at the first column, between
// blank lines and longer than anything inside, so that no list or quote around them can
// end early and let their content out; one left open is closed.
func (n neutralizer) block(text string) string {
	clean, _ := sanitize.Sanitize(text)
	var out []string
	add := func(lines ...string) {
		for _, line := range lines {
			if line != "" || len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, line)
			}
		}
	}
	var open *fence
	var code []string
	info := ""
	for _, line := range strings.Split(strings.TrimRight(clean, "\n"), "\n") {
		if open != nil {
			if open.closes(line) {
				add("")
				out = append(out, codeBlock(info, code)...)
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
		out = append(out, codeBlock(info, code)...)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
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
// pictures or maps instead of showing the text.
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
	case "mermaid", "geojson", "topojson", "stl", "math":
		return "text"
	}
	return word
}

// codeBlock is code between fences longer than any run of backticks in it.
func codeBlock(info string, code []string) []string {
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

// codeSpan is s as inline code; s may hold anything but is put on one line.
func codeSpan(s string) string {
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

// inline neutralizes a text that has to stay on one line.
func (n neutralizer) inline(text string) string {
	clean, _ := sanitize.Sanitize(text)
	return n.line(strings.Join(strings.Fields(clean), " "))
}

// cell is inline for a table: a bar would start the next cell, also within code.
func (n neutralizer) cell(text string) string {
	return strings.ReplaceAll(n.inline(text), "|", `\|`)
}

// codeCell is codeSpan for a table.
func codeCell(text string) string {
	clean, _ := sanitize.Sanitize(text)
	return strings.ReplaceAll(codeSpan(clean), "|", `\|`)
}

// quote neutralizes a text and sets it as a quotation.
func (n neutralizer) quote(text string) string {
	lines := strings.Split(n.block(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight("> "+line, " ")
	}
	return strings.Join(lines, "\n")
}

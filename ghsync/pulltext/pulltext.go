// Package pulltext renders what a pull request says of its session. It is pure: what agents and
// people wrote goes through it as data and comes out harmless.
package pulltext

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Body is what a pull request says of its session. A Raw text is as an agent or a person wrote
// it; Render makes it harmless.
type Body struct {
	Session string
	Seq     int
	Server  string   // for links that may stay links
	Links   []string // further hosts

	NeedsLook []string // paths to look at first: held, named
	Strays    story.Strays
	Exhausted bool     // the last review failed and no fix round was left
	Notes     []string // one line each: workflows with secrets, unpushed commits, submodules...

	Request   markdown.Raw // title and body of the snapshot
	RequestAt time.Time    // the text's cut-off
	Digest    string       // of the snapshot
	Asker     string       // login

	Summary  markdown.Raw // the coordinator's summary
	Plan     markdown.Raw // the plan's overview
	Verdicts []Verdict
	Findings []Finding // open ones, if exhausted

	Crew []string // who worked, a line each; see [story.Crew]
	Used string   // what they used; empty: not known

	Issue    int          // 0: none
	Closes   bool         // merging closes the issue: same repository, default branch
	Template markdown.Raw // the repository's pull request template
}

// Verdict is the last verdict of one role. Commit is the pull request's head when the
// role saw exactly its tree, else empty.
type Verdict struct {
	Role            markdown.Raw
	Verdict, Commit string
	Summary         markdown.Raw
}

// Finding is one thing a reviewer wants changed.
type Finding struct {
	Role, Severity markdown.Raw
	Location       string
	Issue          markdown.Raw
}

// templateHint is a hidden comment of a template for the person who fills it in.
var templateHint = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`) })

const notAvailable = "(not available)"

// Render writes the pull request's body, at most 60,000 characters. The same Body gives
// the same text.
func Render(b Body) string {
	marker := ghsync.Marker{Session: b.Session, Kind: ghsync.KindStatus, Seq: b.Seq}.String()
	for room := 1 << 16; ; room /= 2 {
		text := markdown.PlainDirectives(b.render(room)) + "\n" + marker // it may become a commit's message
		if markdown.Units(text) <= markdown.MaxUnits || room < 64 {
			return text
		}
	}
}

// render gives each part of foreign text at most room units.
func (b Body) render(room int) string {
	n := markdown.New(b.Server, b.Links)
	var out []string
	if line := b.lookLine(n); line != "" {
		out = append(out, line)
	}
	out = append(out, b.Strays.Lines(n.Name)...)
	if b.Exhausted {
		out = append(out, "**The last review failed** and no fix round was left. A person decides what happens next.")
	}
	for _, note := range b.Notes {
		out = append(out, n.Inline(markdown.Shorten(markdown.Raw(note), 1000)))
	}
	out = append(out,
		"## Initial Request\n"+b.request(room),
		"## Summary\n"+orMissing(n.Section(trim(b.Summary, room))),
		"## Plan Summary\n"+orMissing(n.Section(trim(b.Plan, room))),
		"## Review Verdict\n"+orMissing(b.verdicts(n)))
	if len(b.Findings) > 0 {
		out = append(out, "### Open findings\n"+b.findings(n, room))
	}
	out = append(out, "## Who Worked\n"+b.crew(n))
	if t := strings.TrimSpace(templateHint().ReplaceAllString(string(b.Template), "")); t != "" {
		out = append(out, "---", n.Block(trim(markdown.Raw(t), room)))
	}
	if last := b.issueLine(); last != "" {
		out = append(out, last)
	}
	return strings.Join(out, "\n\n")
}

// lookReason says why some paths are named first.
const lookReason = "Such files run or steer programs where the repository is built, checked out or reviewed, and who approves the rest may not see that."

func (b Body) lookLine(n markdown.Neutralizer) string {
	if len(b.NeedsLook) == 0 {
		return ""
	}
	const most = 20
	var names []string
	for _, path := range b.NeedsLook[:min(most, len(b.NeedsLook))] {
		names = append(names, n.Name(path))
	}
	more := ""
	if rest := len(b.NeedsLook) - most; rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	return "**Needs a look:** " + strings.Join(names, ", ") + more + " changed.\n" + lookReason
}

// request shows the text the session worked from as it was, which code fences keep inert.
func (b Body) request(room int) string {
	text := markdown.Raw(strings.TrimSpace(string(b.Request)))
	if text == "" {
		return notAvailable
	}
	lines := markdown.CodeBlock("text", strings.Split(trim(markdown.Visible(text), room), "\n"))
	source := "Text"
	if !b.RequestAt.IsZero() {
		source += " of " + b.RequestAt.UTC().Format("2006-01-02 15:04") + " UTC"
	}
	if b.Digest != "" {
		source += ", sha256 `" + markdown.Abbreviate(b.Digest, 12) + "`"
	}
	if b.Asker != "" {
		source += ", asked by " + markdown.CodeSpan(b.Asker)
	}
	if source == "Text" { // typed at a machine: nothing is known of it
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines, "\n") + "\n" + source
}

func (b Body) verdicts(n markdown.Neutralizer) string {
	var lines []string
	for _, v := range b.Verdicts {
		line := "- " + n.Inline(v.Role) + ": " + v.Verdict
		switch {
		case v.Commit != "":
			line += " at `" + markdown.Abbreviate(v.Commit, 7) + "`"
		case v.Verdict == "pass":
			line += ", passed before the last change"
		}
		if s := markdown.FirstLine(v.Summary); s != "" {
			line += ": " + n.Inline(markdown.Shorten(s, 300))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// crew tells who worked and what was used.
func (b Body) crew(n markdown.Neutralizer) string {
	var lines []string
	for _, line := range b.Crew {
		lines = append(lines, "- "+n.Inline(markdown.Shorten(markdown.Raw(line), 300)))
	}
	used := "Tokens: " + notAvailable
	if b.Used != "" {
		used = n.Inline(markdown.Shorten(markdown.Raw(b.Used), 1000))
	}
	return orMissing(strings.Join(lines, "\n")) + "\n\n" + used
}

func (b Body) findings(n markdown.Neutralizer, room int) string {
	var lines []string
	used := 0
	for i, f := range b.Findings {
		line := "- " + n.Inline(f.Role)
		if f.Severity != "" {
			line += ", " + n.Inline(f.Severity)
		}
		if f.Location != "" {
			line += ", " + n.Name(f.Location)
		}
		line += ": " + n.Inline(markdown.Shorten(f.Issue, 1000))
		if used += markdown.Units(line); used > room {
			return strings.Join(append(lines, fmt.Sprintf("- and %d more", len(b.Findings)-i)), "\n")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// issueLine is the only text with a closing word outside code.
func (b Body) issueLine() string {
	switch {
	case b.Issue == 0:
		return ""
	case b.Closes:
		return fmt.Sprintf("Closes #%d", b.Issue)
	}
	return fmt.Sprintf("Merging this does not close the issue: the base is not the default branch.\n\nRefs #%d", b.Issue)
}

func orMissing(s string) string {
	if s == "" {
		return notAvailable
	}
	return s
}

// trim cuts a text at a line where that is near, and says so.
func trim[T ~string](text T, room int) T {
	s := strings.TrimSpace(string(text))
	if markdown.Units(s) <= room {
		return T(s)
	}
	head := markdown.Clip(s, room)
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i]
	}
	return T(head + fmt.Sprintf("\n[cut: %d bytes]", len(s)-len(head)))
}

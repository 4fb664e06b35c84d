package markdown

import (
	"regexp"
	"sync"

	"github.com/agentmux/agentmux/internal/redact"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// Raw is a text of somebody else as it came. Only a Neutralizer makes a part of a comment of it.
type Raw = sanitize.Raw

// Text is Markdown that may be written to GitHub. Finish makes one; Split and Below return
// parts and additions of one. The zero value is the empty text.
type Text struct{ text string }

// Finish makes the Text of a draft: what the program itself wrote, with the texts of others in
// it as a Neutralizer returned them. It takes the secrets out that stand in the program's own
// parts, or that two parts form together, and replaces broken characters.
func Finish(r *redact.Redactor, draft string) Text {
	return Text{Valid(redacted(r, draft))}
}

// String returns the Markdown.
func (t Text) String() string { return t.text }

// MarshalText writes the Markdown, for requests.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.text), nil }

// Below returns the text with lines of the program below it.
func (t Text) Below(lines string) Text { return Text{t.text + lines} }

// leftover finds what replaces a secret where it would be the text of a link.
var leftover = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\[redacted:[^\]\s]*\])([(:\[])`) })

// redacted takes the secrets out of a draft. Those of neutral texts are out already; what
// replaces others is kept apart from what would make it a link or a picture.
func redacted(r *redact.Redactor, text string) string {
	clean := r.Redact(text)
	if clean == text {
		return text
	}
	return leftover().ReplaceAllString(clean, "$1 $2")
}

package ear

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/sanitize"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/story"
)

const (
	// maxText is how many bytes of a text a command carries.
	maxText = 8 << 10
	// maxWord is how many characters are told of a word that is not a verb.
	maxWord = 40
)

// Order is what a comment says first, if that is a command.
type Order struct {
	Verb string         // in lower case, "status" if there is none
	Line string         // what follows the verb on its line
	Text sanitize.Clean // that and the rest of the comment, for a verb that takes a text, without a mail it answers
	Cut  int            // bytes that are missing at the end of Text

	known bool // there is such a verb
}

// Parse reads a comment. The order is its first line that is not blank, if that begins with
// /agentmux at the first column; what is quoted, fenced, or further below is none.
func Parse(body sanitize.Raw) (Order, bool) {
	if !ghsync.IsCommand(body) {
		return Order{}, false
	}
	text := strings.ReplaceAll(string(body), "\r\n", "\n")
	line, rest := "", text
	for strings.TrimSpace(line) == "" {
		line, rest, _ = strings.Cut(rest, "\n")
	}
	line = strings.TrimLeft(strings.TrimPrefix(line, "/agentmux"), " \t")
	word, after := line, ""
	if at := strings.IndexAny(line, " \t\r"); at >= 0 {
		word, after = line[:at], strings.TrimSpace(line[at:])
	}
	o := Order{Verb: cmp.Or(strings.ToLower(word), "status"), Line: after}
	if o.known = slices.Contains(verbNames(), o.Verb); !o.known {
		o.Verb = shown(o.Verb)
	}
	if command.NeedsText(o.Verb) {
		clean, _ := sanitize.Sanitize(sanitize.Raw(withoutMail(after + "\n" + rest)))
		o.Text, o.Cut = sanitize.Cut(clean.TrimSpace(), maxText)
	}
	return o, true
}

// fault tells why an order cannot be meant so, whatever the session does; "" if it can.
func (o Order) fault() string {
	if !o.known {
		verbs := verbNames()
		if near := document.Nearest(o.Verb, verbs); near != "" {
			return "there is no command " + o.Verb + ": did you mean " + near + "?"
		}
		return "there is no command " + o.Verb + ": there are " + strings.Join(verbs, ", ")
	}
	// A text behind these would be lost, and with it what the person made a condition.
	if o.Line != "" && slices.Contains([]string{"approve", "resume", "retry"}, o.Verb) {
		return o.Verb + " takes no text: use changes to ask for something else, or say to tell an agent"
	}
	return command.TextFault(o.Verb, o.Text.String())
}

// shown is a word that is not a verb as it can be told.
func shown(word string) string {
	if r := []rune(word); len(r) > maxWord {
		word = string(r[:maxWord]) + "…"
	}
	clean, _ := sanitize.Line(sanitize.Raw(word))
	return cmp.Or(clean.String(), "of that name")
}

// verbNames are the verbs of comments.
func verbNames() []string {
	var names []string
	for _, v := range story.Verbs() {
		names = append(names, v.Name)
	}
	return names
}

// to takes the agent from the text of a say: its first word, if known reports that it names one.
func (o Order) to(known func(string) bool) (role, text string) {
	word, rest := firstWord(o.Text.String())
	if role = strings.ToLower(strings.TrimSuffix(word, ":")); known(role) {
		return role, rest
	}
	return "", o.Text.String()
}

// questionID is what ids of questions look like.
var questionID = regexp.MustCompile(`^(?:[qmd]|host-)[0-9]{1,9}$`)

// about takes the question from the text of an answer: its first word, if that looks like an id.
func (o Order) about() (id, text string) {
	word, rest := firstWord(o.Text.String())
	if id = strings.ToLower(strings.TrimSuffix(word, ":")); questionID.MatchString(id) {
		return id, rest
	}
	return "", o.Text.String()
}

// firstWord cuts a text behind its first word.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	at := strings.IndexFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

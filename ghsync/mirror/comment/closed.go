package comment

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// ClosedText is the comment of a question or gate that is decided: what was asked, and what
// became of it.
func (v *View) ClosedText(c story.ClosedAsk) string {
	when := v.at(c.At) + " UTC"
	if c.Gate != nil {
		d := *c.Gate
		d.Actor = v.n.Inline(markdown.Shorten(markdown.Raw(d.Actor), 80))
		heading := "### The " + story.GateNoun(d.Gate) + " waits no more"
		line := d.String()
		out := heading + "\n\n" + strings.ToUpper(line[:1]) + line[1:] + ", at " + when + "."
		if d.Digest != "" {
			out += " Digest `" + markdown.Abbreviate(d.Digest, 12) + "`."
		}
		return out
	}
	q := c.Question
	out := []string{fmt.Sprintf("### Question %s of %s: closed", q.ID, markdown.CodeSpan(string(q.Agent))), "", v.n.Quote(markdown.Raw(q.Text)), ""}
	switch {
	case c.Withdrawn:
		out = append(out, "It needs no answer any more, since "+when+".")
	case c.Late:
		out = append(out, "There was no answer in time, by "+when+": the agent takes the safest reading and writes it down.")
	default:
		out = append(out, "Answered by "+v.n.Name(c.Actor)+" at "+when+".")
	}
	return strings.Join(out, "\n")
}

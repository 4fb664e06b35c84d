package gate

import (
	"fmt"
	"io"

	"github.com/agentmux/agentmux/ghsync"
)

// Plan is what a dry run says of a decision: what the bot would write for it, in order.
type Plan struct {
	Repo    ghsync.Repo
	Record  ghsync.Record
	Label   string // the request label
	Host    string // the id of the host that would take the issue
	Refusal string // the comment, of a request that is refused
	Decision
}

// Print prints the decision and, indented below it, a line for each write.
func (p Plan) Print(w io.Writer) {
	issue := p.Record.Issue.Number
	fmt.Fprintf(w, "%s#%d: %s (row %s)\n", p.Repo, issue, p.said(), p.Row)
	write := func(format string, args ...any) { fmt.Fprintf(w, "  "+format+"\n", args...) }
	api := fmt.Sprintf("/repos/%s/issues/%d", p.Repo, issue)
	switch {
	case p.Accepted():
		write("git push  refs/agentmux/claims/%d, refs/agentmux/hosts/%s", issue, p.Host)
		write("POST %s/comments  the status comment", api)
		write("POST %s/labels  %s:queued", api, p.Label)
	case p.What == Refuse:
		write("POST %s/comments  %q", api, p.Refusal)
	}
	if p.Accepted() || p.What == Refuse || p.DropsLabel() {
		for _, name := range p.Record.Issue.Labels {
			if _, asks := ghsync.RequestLabel(name, p.Label); asks {
				write("DELETE %s/labels/%s", api, name)
			}
		}
	}
	if p.Accepted() {
		write("then what agentmux issue %d --repo %s --dry-run lists", issue, p.Repo)
	}
}

// said is the decision in words.
func (p Plan) said() string {
	switch {
	case p.Accepted():
		return "accepted"
	case p.What == Later:
		return "not decided yet: " + p.Decision.String()
	case p.What == Ignore:
		return "left alone: " + p.Decision.String()
	}
	return "refused: " + p.Decision.String()
}

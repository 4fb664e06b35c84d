package artifact

import (
	"github.com/agentmux/agentmux/internal/document"
)

// ActionApprove is the only action of an approval.
const ActionApprove = "approve"

// Approval is a valid approval.json.
type Approval struct {
	Action        string   `doc:"action"`
	ExcludeFiles  []string `doc:"exclude_files"`  // exact paths of the repository
	CommitMessage string   `doc:"commit_message"` // may be empty
	By            string   `doc:"by"`             // may be empty
	Of            string   `doc:"of"`             // digest of what is approved; the session asks for it
}

// ParseApproval reads an approval.json. The approval is nil when a problem is an
// error, and here an unknown key is one: a mistyped exclude_files must not publish.
func ParseApproval(data []byte) (*Approval, document.Problems) {
	c, ok := newContract(data)
	if !ok {
		return nil, c.result()
	}
	a := &Approval{}
	c.strict(a)
	if a.Action != ActionApprove {
		c.check("action", "expected approve, found %s", quoted(a.Action))
	}
	for i := range a.ExcludeFiles {
		c.required(document.Index("exclude_files", i), &a.ExcludeFiles[i])
	}
	c.optional("commit_message", &a.CommitMessage)
	c.optional("by", &a.By)
	c.optional("of", &a.Of)
	problems := c.result()
	if problems.Err() != nil {
		return nil, problems
	}
	return a, problems
}

package story

import (
	"cmp"

	"github.com/agentmux/agentmux/orchestrator"
)

// Result is what became of the work: its branch, its commit and its pull request.
type Result struct {
	Branch   string
	Commit   string // made last
	Pushed   bool   // the branch was pushed, and not left out
	Head     string // the commit that was pushed last
	Pull     int    // number of the pull request; 0: there is none yet
	Draft    bool   // the pull request is one
	Withheld orchestrator.Withheld
}

func (r *Result) fold(e orchestrator.Event) {
	switch d := e.Data.(type) {
	case orchestrator.SessionCreatedRecord:
		r.Branch = d.Branch
	case orchestrator.CommitCreatedRecord:
		r.Commit = d.SHA
	case orchestrator.BranchPushedRecord:
		r.Branch, r.Commit = cmp.Or(d.Branch, r.Branch), cmp.Or(d.SHA, r.Commit)
		r.Pushed, r.Withheld = d.Skipped == "", withheld(d)
		if r.Pushed {
			r.Head = r.Commit
		}
	case orchestrator.PROpenedRecord:
		r.Pull, r.Draft = d.Number, d.Draft
	case orchestrator.DoneRecord:
		r.Commit = cmp.Or(d.Commit, r.Commit)
	}
}

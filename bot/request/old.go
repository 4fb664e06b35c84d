package request

import (
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Old is what an earlier session of an issue means for another request of it.
type Old int

// The meanings of an earlier session.
const (
	Finished   Old = iota // another session can be made
	Ending                // its host still completes its end
	Running               // it works on the issue
	Owing                 // it has ended and a host must still complete something
	Unfinished            // it can be resumed
)

// Of reports whether a session is of an issue.
func Of(e session.Entry, repo ghsync.Repo, number int) bool {
	return e.State != nil && e.State.IssueNumber == number && strings.EqualFold(string(e.State.Repo), repo.String())
}

// Means returns what a readable session means. owes is called only for a session without a host.
func Means(e session.Entry, owes func() bool) Old {
	switch {
	case e.Running && e.State.Ended():
		return Ending
	case e.Running:
		return Running
	case owes():
		return Owing
	case e.State.Phase != orchestrator.PhaseDone:
		return Unfinished
	}
	return Finished
}

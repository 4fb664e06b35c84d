package request

import (
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Old is what a session that was made before means for a request of the same issue.
type Old int

// What it may mean.
const (
	Finished   Old = iota // nothing: another session can be made
	Ending                // its host still completes its end
	Running               // it works on the issue
	Owing                 // it is done and still owes something
	Unfinished            // it can go on
)

// Of reports whether a session is of an issue.
func Of(e session.Entry, repo ghsync.Repo, number int) bool {
	return e.State != nil && e.State.IssueNumber == number && strings.EqualFold(string(e.State.Repo), repo.String())
}

// Means says what a session that can be read means; owes is asked about one that has ended
// and has no host.
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

package bot

import (
	"path/filepath"

	"github.com/agentmux/agentmux/orchestrator/session"
)

// rung is what the bell of a repository is heard by: a command at a terminal has told a session
// something that no goroutine runs.
type rung struct{ *repository }

// wake has a session run that has something to read.
func (r rung) wake(name string) {
	e, ok := session.At(r.dir(), filepath.Join(session.Dir(r.dir()), name))
	if ok && e.State != nil && e.State.IssueNumber != 0 && !r.ticketed(e) && owes(e) {
		r.hosted(e).wake()
	}
}

// hosted returns a session, which need not be the newest of its issue.
func (r rung) hosted(e session.Entry) *hosted {
	if h := r.know(e.Dir, e.State.IssueNumber, e.State); h.dir == e.Dir {
		return h
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.older[e.Dir] == nil {
		r.older[e.Dir] = newHosted(r.repository, e.Dir, e.State)
	}
	return r.older[e.Dir]
}

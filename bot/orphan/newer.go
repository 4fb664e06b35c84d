package orphan

import (
	"errors"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// newerSession is one that a newer agentmux made, whose claim this host keeps for it.
type newerSession struct {
	made *session.NewerError
	held claim.Held
}

// keepsNewer keeps the claim of a session that a newer agentmux made, and reports whether it is one. Its agents may be
// at work: given back, the claim would let another session of the issue begin beside them.
func (l *Lookout) keepsNewer(q Request, held claim.Held) bool {
	if l.o.Project == "" {
		return false
	}
	e, _ := session.At(l.o.Project, filepath.Join(session.Dir(l.o.Project), q.Name))
	var made *session.NewerError
	if !errors.As(e.Err, &made) {
		return false
	}
	l.o.Log.Warn("a session is left to the newer agentmux that made it, and its issue waits", "session", q.Name, "issue", q.Seen.Issue)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newer[q.Seen.Issue] = newerSession{made, held}
	return true
}

// Newer returns why nothing is done about an issue whose session a newer agentmux made, as a *session.NewerError; nil:
// it has none, or another host has taken its claim.
func (l *Lookout) Newer(issue int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, ok := l.newer[issue]
	if !ok {
		return nil
	}
	select {
	case <-kept.held.Lost():
		delete(l.newer, issue)
		return nil
	default:
		return kept.made
	}
}

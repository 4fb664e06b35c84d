package orphan

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// unreadSession is one of this host whose state cannot be read here: a newer agentmux made it, or its files are damaged.
type unreadSession struct {
	name string
	held claim.Held // is kept for it
}

// keepsUnread keeps the claim of a session whose state cannot be read, and reports whether it is one. Its agents may be at
// work: given back, the claim would let another session of the issue begin beside them.
func (l *Lookout) keepsUnread(q Request, held claim.Held) bool {
	err := l.unreadable(q.Name)
	if err == nil {
		return false
	}
	l.o.Log.Warn("the claim of a session that cannot be read is kept, and its issue waits", "session", q.Name, "issue", q.Seen.Issue,
		"dir", filepath.Join(session.Dir(l.o.Project), q.Name), "err", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unread[q.Seen.Issue] = unreadSession{q.Name, held}
	return true
}

// stateFiles are those that hold the state of a session: the present one, the one before its last phase, and one that was
// put aside as damaged.
var stateFiles = []string{session.StateFile, session.StateBackup, session.StateFile + ".damaged"}

// Remains reports whether any state of a session is left in its directory. What cannot be looked for is not gone; where no
// state is, other files of the session are of no use.
func Remains(project, name string) bool {
	return slices.ContainsFunc(stateFiles, func(file string) bool {
		_, err := os.Lstat(filepath.Join(session.Dir(project), name, file))
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// unreadable returns why the state of a session cannot be read; nil: it can, or nothing of it is left here.
func (l *Lookout) unreadable(name string) error {
	if l.o.Project == "" || !Remains(l.o.Project, name) {
		return nil
	}
	e, ok := session.At(l.o.Project, filepath.Join(session.Dir(l.o.Project), name))
	if !ok {
		return fmt.Errorf("%s cannot be read, and has neither %s nor %s; put %s there, or remove the directory", name, session.StateFile, session.StateBackup, session.StateFile)
	}
	return e.Err
}

// Unread returns why nothing is done about an issue whose session cannot be read here; nil: it has none, or another host
// has taken its claim. The files are read again each time: a session that was repaired, or is gone, is rung for.
func (l *Lookout) Unread(issue int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, ok := l.unread[issue]
	if !ok {
		return nil
	}
	select {
	case <-kept.held.Lost():
		delete(l.unread, issue)
		return nil
	default:
	}
	err := l.unreadable(kept.name)
	if err == nil {
		err = l.o.Ring(kept.name)
	}
	if err == nil {
		err = fmt.Errorf("%s is about to be taken up again", kept.name)
	}
	return err
}

// Return gives up the claim that is kept for a session, by its name, once that can be read or is gone; nil without one.
func (l *Lookout) Return(name string) claim.Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	for issue, kept := range l.unread {
		if kept.name == name && l.unreadable(name) == nil {
			delete(l.unread, issue)
			return kept.held
		}
	}
	return nil
}

// reread rings for the sessions that can be read again.
func (l *Lookout) reread() {
	l.mu.Lock()
	issues := slices.Collect(maps.Keys(l.unread))
	l.mu.Unlock()
	for _, issue := range issues {
		_ = l.Unread(issue) // the log told it when the claim was kept
	}
}

package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// ErrIssueGone is why a mirror ends whose issue nobody can write to any more: it or its
// repository was deleted, is hidden from this account, or it is another repository's now.
var ErrIssueGone = errors.New("the issue is gone")

// absence is that repository or issue were not there when they were looked for. One look
// proves little: servers lag, and permissions are changed in more than one step.
type absence struct {
	Since time.Time `json:"since"`
	// Sure says that a later look found the same, or that the server named the new place:
	// nothing can be shown until a look finds them again.
	Sure bool `json:"sure,omitempty"`
}

// canLook reports whether it can be found out where repository and issue are.
func (m *Mirror) canLook() bool {
	return m.o.Client != nil && m.o.RepoID != 0 && m.o.Sink == nil
}

// missing reports whether repository or issue were not there at the last look.
func (m *Mirror) missing() bool { return m.st.Absent != nil && m.canLook() }

// relocate finds out what it means that something moved or is not there. A repository that
// has another name is followed; what comes back then hides err, so that the same write is
// made again there. The error is err itself if repository and issue are where they were.
func (m *Mirror) relocate(ctx context.Context, err error) error {
	if !transport.IsMoved(err) && !transport.IsNotFound(err) || !m.canLook() {
		return err
	}
	moved, lookErr := m.look(ctx)
	switch {
	case lookErr != nil:
		return lookErr
	case moved:
		return &transport.Unsent{Err: fmt.Errorf("the repository is %s now: %s", m.o.Repo, err.Error())}
	}
	return err
}

// deleted returns nil if err says that a thing is not there while repository and issue are:
// somebody deleted it.
func (m *Mirror) deleted(ctx context.Context, err error) error {
	if err = m.relocate(ctx, err); transport.IsNotFound(err) {
		return nil
	}
	return err
}

// look finds out where repository and issue are. It reports whether the repository had
// another name until now.
func (m *Mirror) look(ctx context.Context) (moved bool, err error) {
	now, err := m.o.Client.RepositoryByID(ctx, m.o.RepoID)
	switch {
	case transport.IsNotFound(err):
		return false, m.absent(fmt.Sprintf("repository %s, id %d: %s", m.o.Repo, m.o.RepoID, err))
	case err != nil:
		return false, fmt.Errorf("find the repository that was %s: %w", m.o.Repo, err)
	case !strings.EqualFold(now.String(), m.o.Repo.String()):
		m.o.Log.Info("repository moved", "session", m.view.session, "from", m.o.Repo.String(), "to", now.String())
		m.o.Repo, m.sink, m.st.Repo, m.st.Absent = now.Repo, m.o.Client.Sink(now.Repo), now.String(), nil
		return true, m.save()
	}
	issue, err := m.o.Client.Issue(ctx, now.Repo, m.o.Issue)
	switch {
	case transport.IsNotFound(err):
		return false, m.absent(fmt.Sprintf("%s#%d: %s", now.Repo, m.o.Issue, err))
	case err != nil:
		return false, err
	case !strings.EqualFold(issue.Repo.String(), now.String()):
		return false, m.gone(fmt.Sprintf("%s#%d was transferred and is %s#%d now", now.Repo, m.o.Issue, issue.Repo, issue.Number))
	}
	m.st.Absent = nil
	return false, nil
}

// lookAgain is the second look for what was absent; nothing is written before it.
func (m *Mirror) lookAgain(ctx context.Context) error {
	if left := m.untilSecondLook(); left > 0 {
		return &transport.RetryAfter{Wait: left, Scope: "absence", Err: errors.New("repository or issue were not found")}
	}
	_, err := m.look(ctx)
	if _, again := transport.Later(err); err != nil && !again {
		m.st.Absent = nil // looking is refused: what the writes are told decides
		return nil
	}
	return err
}

// untilSecondLook is how much later the second look has to be.
func (m *Mirror) untilSecondLook() time.Duration {
	now := m.o.Now().UTC()
	if now.Before(m.st.Absent.Since) {
		m.st.Absent.Since = now // the clock was set back
	}
	return m.o.Pace.Gone - now.Sub(m.st.Absent.Since)
}

// absent notes that a look found nothing, and ends the mirror if an earlier one did, too.
func (m *Mirror) absent(what string) error {
	if m.st.Absent == nil {
		m.st.Absent = &absence{Since: m.o.Now().UTC()}
	}
	left := m.untilSecondLook()
	if left <= 0 {
		return m.gone(what)
	}
	if err := m.save(); err != nil {
		return err
	}
	return &transport.RetryAfter{Wait: left, Scope: "absence", Err: errors.New(what)}
}

// gone ends the mirror. What it has not shown is not owed any more.
func (m *Mirror) gone(what string) error {
	if m.st.Absent == nil {
		m.st.Absent = &absence{Since: m.o.Now().UTC()}
	}
	m.st.Absent.Sure = true
	err := fmt.Errorf("%w: %s", ErrIssueGone, what)
	m.settle()
	text := m.o.Redactor.Redact(err.Error())
	m.st.LastError = &text
	m.mu.Lock()
	m.lastErr = err
	m.mu.Unlock()
	return errors.Join(err, m.save())
}

// remembered is the repository as an earlier mirror of the session found it.
func (s *mirrorState) remembered(id int64) (ghsync.Repo, bool) {
	owner, name, ok := strings.Cut(s.Repo, "/")
	return ghsync.Repo{Owner: owner, Name: name}, ok && id != 0 && s.RepoID == id
}

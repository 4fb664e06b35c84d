package ghsync

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrIssueGone is why a mirror ends whose issue nobody can write to any more: it or its
// repository was deleted, is hidden from this account, or it is another repository's now.
var ErrIssueGone = errors.New("the issue is gone")

// relocate finds out what it means that something moved or is not there. A repository that
// has another name is followed: the same write is made there. The error is err itself if
// repository and issue are where they were.
func (m *Mirror) relocate(ctx context.Context, err error) error {
	if !isMovedError(err) && !IsNotFound(err) || m.o.Client == nil || m.o.RepoID == 0 || m.o.Sink != nil {
		return err
	}
	now, readErr := m.o.Client.RepositoryByID(ctx, m.o.RepoID)
	switch {
	case IsNotFound(readErr):
		return fmt.Errorf("%w: repository %s, id %d: %w", ErrIssueGone, m.o.Repo, m.o.RepoID, readErr)
	case readErr != nil:
		return fmt.Errorf("find the repository that was %s: %w", m.o.Repo, readErr)
	case !strings.EqualFold(now.String(), m.o.Repo.String()):
		m.o.Log.Info("repository moved", "session", m.view.session, "from", m.o.Repo.String(), "to", now.String())
		m.o.Repo, m.sink, m.st.Repo = now.Repo, m.o.Client.Sink(now.Repo), now.String()
		return errors.Join(&Unsent{Err: err}, m.save())
	}
	issue, readErr := m.o.Client.Issue(ctx, now.Repo, m.o.Issue)
	switch {
	case IsNotFound(readErr):
		return fmt.Errorf("%w: %s#%d: %w", ErrIssueGone, now.Repo, m.o.Issue, readErr)
	case readErr != nil:
		return readErr
	case !strings.EqualFold(issue.Repo.String(), now.String()):
		return fmt.Errorf("%w: %s#%d was transferred and is %s#%d now", ErrIssueGone, now.Repo, m.o.Issue, issue.Repo, issue.Number)
	}
	return err
}

// remembered is the repository as an earlier mirror of the session found it.
func (s *mirrorState) remembered(id int64) (Repo, bool) {
	owner, name, ok := strings.Cut(s.Repo, "/")
	return Repo{Owner: owner, Name: name}, ok && id != 0 && s.RepoID == id
}

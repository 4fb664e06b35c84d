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

// ErrIssueGone ends a mirror whose issue can no longer be written to: the issue or its
// repository was deleted or is hidden from this account, or the issue was transferred.
var ErrIssueGone = errors.New("the issue is gone")

// Absent reports whether err says that repository or issue were not found at one look. The next one
// finds them, or ends with ErrIssueGone.
func Absent(err error) bool { return errors.Is(err, errAbsent) }

var errAbsent = errors.New("repository or issue were not found")

// absence notes that the repository or the issue was not found. One look proves little:
// servers lag, and permissions are changed in more than one step.
type absence struct {
	Since time.Time `json:"since"`
	// Sure says that a later look found the same, or that the server named the new place:
	// nothing can be shown until a look finds them again.
	Sure bool `json:"sure,omitempty"`
}

// locator finds out where repository and issue are.
type locator struct{ *ledger }

// canLook reports whether it can be found out where repository and issue are.
func (w *locator) canLook() bool {
	return w.o.RepoID != 0
}

// missing reports whether repository or issue were not there at the last look.
func (w *locator) missing() bool { return w.st.Absent != nil && w.canLook() }

// relocate finds out why something moved or was not found. A renamed repository is followed;
// the error then hides err, so that the same write is made again there. The error is err
// itself if repository and issue are where they were.
func (w *locator) relocate(ctx context.Context, err error) error {
	if !transport.IsMoved(err) && !transport.IsNotFound(err) || !w.canLook() {
		return err
	}
	moved, locateErr := w.locate(ctx)
	switch {
	case locateErr != nil:
		return locateErr
	case moved:
		return &transport.Unsent{Err: fmt.Errorf("the repository is %s now: %s", w.o.Repo, err.Error())}
	}
	return err
}

// deleted returns nil if err says that a comment was not found while repository and issue
// are: it was deleted.
func (w *locator) deleted(ctx context.Context, err error) error {
	if err = w.relocate(ctx, err); transport.IsNotFound(err) {
		return nil
	}
	return err
}

// locate finds out where repository and issue are. It reports whether the repository had
// another name until now.
func (w *locator) locate(ctx context.Context) (moved bool, err error) {
	now, err := w.o.Server.Place.RepositoryByID(ctx, w.o.RepoID)
	switch {
	case transport.IsNotFound(err):
		return false, w.absent(fmt.Sprintf("repository %s, id %d: %s", w.o.Repo, w.o.RepoID, err))
	case err != nil:
		return false, fmt.Errorf("find the repository that was %s: %w", w.o.Repo, err)
	case !strings.EqualFold(now.String(), w.o.Repo.String()):
		w.o.Log.Info("repository moved", "session", w.view.Identity.Session, "from", w.o.Repo.String(), "to", now.String())
		w.o.Repo, w.st.Repo, w.st.Absent = now.Repo, now.String(), nil
		return true, w.save()
	}
	issue, err := w.o.Server.Place.Issue(ctx, now.Repo, w.o.Issue)
	switch {
	case transport.IsNotFound(err):
		return false, w.absent(fmt.Sprintf("%s#%d: %s", now.Repo, w.o.Issue, err))
	case err != nil:
		return false, err
	case !strings.EqualFold(issue.Repo.String(), now.String()):
		return false, w.lost(fmt.Sprintf("%s#%d was transferred and is %s#%d now", now.Repo, w.o.Issue, issue.Repo, issue.Number))
	}
	w.st.Absent = nil
	return false, nil
}

// secondLook looks again for what was absent; nothing is written before it.
func (w *locator) secondLook(ctx context.Context) error {
	if left := w.untilSecondLook(); left > 0 {
		return &transport.RetryAfter{Wait: left, Scope: "absence", Err: errAbsent}
	}
	_, err := w.locate(ctx)
	if _, later := transport.Later(err); err != nil && !later {
		w.st.Absent = nil // looking is refused: what the writes are told decides
		return nil
	}
	return err
}

// untilSecondLook is how much later the second look has to be.
func (w *locator) untilSecondLook() time.Duration {
	now := w.o.Now().UTC()
	if now.Before(w.st.Absent.Since) {
		w.st.Absent.Since = now // the clock was set back
	}
	return w.o.Pace.Gone - now.Sub(w.st.Absent.Since)
}

// absent notes that a look found nothing. It ends the mirror if an earlier look found nothing
// either.
func (w *locator) absent(what string) error {
	if w.st.Absent == nil {
		w.st.Absent = &absence{Since: w.o.Now().UTC()}
	}
	left := w.untilSecondLook()
	if left <= 0 {
		return w.lost(what)
	}
	if err := w.save(); err != nil {
		return err
	}
	return &transport.RetryAfter{Wait: left, Scope: "absence", Err: fmt.Errorf("%w: %s", errAbsent, what)}
}

// lost ends the mirror. What is not shown yet never will be.
func (w *locator) lost(what string) error {
	if w.st.Absent == nil {
		w.st.Absent = &absence{Since: w.o.Now().UTC()}
	}
	w.st.Absent.Sure = true
	err := fmt.Errorf("%w: %s", ErrIssueGone, what)
	w.settle()
	w.failed(err)
	return errors.Join(err, w.save())
}

// remembered is the repository as an earlier mirror of the session found it.
func (s *mirrorState) remembered(id int64) (ghsync.Repo, bool) {
	owner, name, ok := strings.Cut(s.Repo, "/")
	return ghsync.Repo{Owner: owner, Name: name}, ok && id != 0 && s.RepoID == id
}

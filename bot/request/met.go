package request

import (
	"context"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
)

// metTime is how long a reading counts as one of now: what is decided by it is decided a moment after a start, before
// anything was claimed.
const metTime = 15 * time.Second

// Met is what a process that serves one issue read of it when it began. The one request tells the repository and the
// account that acts, too, which are needed before the issue is judged. It answers once for the repository and once for
// the issue: who asks again wants to know what has changed. Nil answers for nothing.
type Met struct {
	issue int

	mu         sync.Mutex
	repository *ghsync.Repository
	record     *ghsync.Record
}

// Meet reads an issue. Errors as those of [ghsync.Client.Record].
func Meet(ctx context.Context, c *ghsync.Client, repo ghsync.Repo, issue int) (*Met, ghsync.Repository, error) {
	record, err := c.Record(ctx, repo, issue)
	if err != nil {
		return nil, ghsync.Repository{}, err
	}
	return &Met{issue: issue, repository: &record.Repository, record: &record}, record.Repository, nil
}

// Repository is that of the reading, or is read now.
func (m *Met) Repository(ctx context.Context, c *ghsync.Client, repo ghsync.Repo) (ghsync.Repository, error) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if found := m.repository; found != nil {
			m.repository = nil
			return *found, nil
		}
	}
	return c.Repository(ctx, repo.Owner, repo.Name)
}

// take returns the reading of an issue, if there is one of a moment before now.
func (m *Met) take(issue int, now time.Time) (record ghsync.Record, ok bool) {
	if m == nil || issue != m.issue {
		return record, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.record == nil || now.Sub(m.record.ReadAt) >= metTime {
		return record, false
	}
	record, m.record = *m.record, nil
	return record, true
}

package ear

import (
	"context"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// PollEvery is how often a listener looks at the server.
const PollEvery = 15 * time.Second

// maxPages bounds how far a look goes back.
const maxPages = 10

// Listener feeds an ear that serves one issue and has nobody else to feed it. It reads the newest
// comments of the repository, whose address is always the same, so that a look costs nothing
// when there is no news; and, while the pull request is open, the list of open ones.
type Listener struct {
	*Ear
	Every time.Duration // 0 = PollEvery

	look  sync.Mutex          // what follows belongs to who has it
	seen  map[int64]time.Time // comments and when they changed last
	pulls map[int]time.Time   // pull requests and when they changed last
}

// Run feeds the ear and runs it until ctx ends. Failures are waited out and logged.
func (l *Listener) Run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Ear.Run(ctx)
	}()
	every := l.Every
	if every <= 0 {
		every = PollEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := l.Look(ctx); err != nil && ctx.Err() == nil {
			l.o.Log.Warn("comments not read", "issue", l.o.Issue, "err", err)
		}
		select {
		case <-ctx.Done():
			<-done
			return
		case <-tick.C:
		}
	}
}

// Look reads what is new.
func (l *Listener) Look(ctx context.Context) error {
	l.look.Lock()
	defer l.look.Unlock()
	ctx = transport.WithPriority(ctx, transport.PriorityDiscovery)
	if err := l.comments(ctx); err != nil {
		return err
	}
	return l.reviews(ctx)
}

// News is that of the ear, for its one issue: it takes up where the last look ended, which is
// cheaper than to read by a time.
func (l *Listener) News(ctx context.Context) (bool, error) {
	l.look.Lock()
	defer l.look.Unlock()
	if err := l.comments(ctx); err != nil {
		return false, err
	}
	s, err := l.o.Owner.Find(ctx, l.o.Issue, false)
	if err != nil {
		return false, err
	}
	if s.Pull != 0 {
		reviews, err := ghsync.Intake{Client: l.o.Client}.Reviews(ctx, l.where(), s.Pull)
		if err != nil {
			return false, err
		}
		l.HearReviews(s.Pull, reviews...)
	}
	return l.news(ctx, s)
}

// comments reads those that changed since the last look.
func (l *Listener) comments(ctx context.Context) error {
	var all []ghsync.IssueComment
	seen := map[int64]time.Time{}
	for page := 1; page > 0 && page <= maxPages; {
		comments, more, err := ghsync.Intake{Client: l.o.Client}.RecentComments(ctx, l.where(), page)
		if err != nil {
			return err
		}
		fresh := 0
		for _, c := range comments {
			seen[c.ID] = c.EditedAt
			if at, known := l.seen[c.ID]; known && at.Equal(c.EditedAt) || c.EditedAt.Before(l.o.Since) {
				continue
			}
			fresh++
			all = append(all, c)
		}
		page++
		if !more || fresh < len(comments) {
			page = 0
		}
	}
	l.seen = seen
	l.Hear(all...)
	return nil
}

// reviews reads those of the session's pull request, if it changed.
func (l *Listener) reviews(ctx context.Context) error {
	s, err := l.o.Owner.Find(ctx, l.o.Issue, false)
	if err != nil || s.Pull == 0 || !s.Open {
		return err
	}
	pulls, err := ghsync.Intake{Client: l.o.Client}.OpenPulls(ctx, l.where())
	if err != nil {
		return err
	}
	began := l.o.Now()
	for _, p := range pulls {
		if p.Number != s.Pull || p.UpdatedAt.Equal(l.pulls[p.Number]) {
			continue
		}
		reviews, err := ghsync.Intake{Client: l.o.Client}.Reviews(ctx, l.where(), p.Number)
		if err != nil {
			return err
		}
		l.HearReviews(p.Number, reviews...)
		if began.Sub(p.UpdatedAt) >= touchTime { // else another one of that second would change nothing in the list
			l.pulls = map[int]time.Time{p.Number: p.UpdatedAt}
		}
	}
	return nil
}

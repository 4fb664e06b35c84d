package ear

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// PollEvery is how often a listener looks at the server.
const PollEvery = 15 * time.Second

// maxPages bounds how far a look goes back.
const maxPages = 10

// Listener feeds an ear that serves the issues of one session and has nothing else to feed it. It reads the newest
// comments of the repository, whose address is always the same, so that a look costs nothing
// when there is no news, however many issues there are; and, while a pull request is open, the list of open ones.
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
			l.o.Log.Warn("comments not read", "issues", l.o.Issues, "err", err)
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

// News is that of the ear, for its issues: it takes up where the last look ended, which is
// cheaper than to read by a time.
func (l *Listener) News(ctx context.Context) (fresh bool, err error) {
	l.look.Lock()
	defer l.look.Unlock()
	if err := l.comments(ctx); err != nil {
		return false, err
	}
	of, err := l.subjects(ctx)
	if err != nil {
		return false, err
	}
	if err := l.lastReviews(ctx, of); err != nil {
		return false, err
	}
	for _, s := range of {
		more, err := l.news(ctx, s)
		if err != nil {
			return false, err
		}
		fresh = fresh || more
	}
	return fresh, nil
}

// subjects are what the issues have.
func (l *Listener) subjects(ctx context.Context) ([]Subject, error) {
	var of []Subject
	for _, issue := range l.o.Issues {
		s, err := l.o.Owner.Find(ctx, issue, false)
		if err != nil {
			return nil, err
		}
		of = append(of, s)
	}
	return of, nil
}

// lastReviews reads those of the one pull request there may be; of several, those that the list of open ones shows as changed.
func (l *Listener) lastReviews(ctx context.Context, of []Subject) error {
	if len(of) > 1 {
		return l.changedReviews(ctx, of)
	}
	for _, s := range of {
		if s.Pull == 0 {
			continue
		}
		reviews, err := ghsync.Intake{Client: l.o.Client}.Reviews(ctx, l.where(), s.Pull)
		if err != nil {
			return err
		}
		l.HearReviews(s.Pull, reviews...)
	}
	return nil
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

// reviews reads those of pull requests that changed.
func (l *Listener) reviews(ctx context.Context) error {
	of, err := l.subjects(ctx)
	if err != nil {
		return err
	}
	return l.changedReviews(ctx, of)
}

// changedReviews reads those of open pull requests that changed since they were read.
func (l *Listener) changedReviews(ctx context.Context, of []Subject) error {
	ours := func(number int) bool {
		return slices.ContainsFunc(of, func(s Subject) bool { return s.Open && s.Pull != 0 && (number == 0 || s.Pull == number) })
	}
	if !ours(0) {
		return nil
	}
	pulls, err := ghsync.Intake{Client: l.o.Client}.OpenPulls(ctx, l.where())
	if err != nil {
		return err
	}
	began := l.o.Now()
	for _, p := range pulls {
		if !ours(p.Number) || p.UpdatedAt.Equal(l.pulls[p.Number]) {
			continue
		}
		reviews, err := ghsync.Intake{Client: l.o.Client}.Reviews(ctx, l.where(), p.Number)
		if err != nil {
			return err
		}
		l.HearReviews(p.Number, reviews...)
		if began.Sub(p.UpdatedAt) >= touchTime { // else another one of that second would change nothing in the list
			if l.pulls == nil {
				l.pulls = map[int]time.Time{}
			}
			l.pulls[p.Number] = p.UpdatedAt
		}
	}
	return nil
}

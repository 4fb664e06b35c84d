package bot

import (
	"context"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// found takes in what may have changed in the repository.
func (r *repository) found(c intake.Changes) {
	for _, candidate := range c.Candidates {
		r.met.add(candidate.Issue, time.Time{})
	}
	for _, issue := range c.Issues {
		if issue.Closed && r.isBusy(issue.Number) {
			r.met.add(issue.Number, time.Time{})
		}
	}
	r.ear.Hear(c.Comments...)
	r.mu.Lock()
	for _, p := range c.Pulls {
		delete(r.left, p.Number)
		r.pulls.add(p.Number, time.Time{})
	}
	for _, number := range c.Left {
		r.left[number] = true
	}
	r.mu.Unlock()
	r.bot.aim()
}

// isBusy reports whether an issue has a ticket or a session that is under way.
func (r *repository) isBusy(issue int) bool {
	if _, err := r.shelf.Read(issue); err == nil {
		return true
	}
	h := r.session(issue)
	return h != nil && h.live()
}

// readPull reads the reviews of an open pull request, if it is of a session, and returns when to try
// again.
func (r *repository) readPull(ctx context.Context, number int) (again time.Duration) {
	if r.sessionOfPull(number) == nil {
		return 0
	}
	reviews, err := ghsync.Intake{Client: r.account.Client}.Reviews(ctx, r.name(), number)
	r.ear.HearReviews(number, reviews...)
	if err == nil || ctx.Err() != nil {
		return 0
	}
	wait, passes := transport.Later(err)
	r.log().Warn("the reviews of a pull request are read later", "pull_request", number, "err", err)
	if !passes {
		return maxRestartPause
	}
	return max(wait, tryPause)
}

// sessionOfPull returns the newest session of an issue that has this pull request; nil without one.
func (r *repository) sessionOfPull(number int) *hosted {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.sessions {
		if h.state.Load().Completion.PRNumber == number {
			return h
		}
	}
	return nil
}

// isOpen reports whether a pull request of a session was not seen to leave the list of open ones.
func (r *repository) isOpen(number int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.left[number]
}

// mode is what the poller of the repository has to read besides issues.
func (r *repository) mode() intake.Mode {
	r.mu.Lock()
	defer r.mu.Unlock()
	var m intake.Mode
	for _, h := range r.sessions {
		s := h.state.Load()
		m.Live = m.Live || !s.Ended()
		m.Pulls = m.Pulls || s.Completion.PRNumber != 0 && !r.left[s.Completion.PRNumber]
	}
	return m
}

// aim tells the watch of what goes on in the repositories.
func (b *Bot) aim() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var targets []intake.Target
	for _, r := range b.repos {
		targets = append(targets, intake.Target{Client: r.account.Client, Repo: r.name(), ID: r.id, Mode: r.mode(), Swept: r.swept, Busy: r.bot.queue.waits(r.id)})
	}
	if slices.Equal(targets, b.targets) {
		return
	}
	b.targets = targets
	b.watch.Set(targets)
}

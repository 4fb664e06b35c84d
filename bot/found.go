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
	for _, p := range c.Pulls {
		r.sessions.opened(p.Number)
		r.pulls.add(p.Number, time.Time{})
	}
	for _, number := range c.Left {
		r.sessions.closed(number)
	}
	r.bot.aim()
}

// isBusy reports whether an issue has a ticket or a session that is under way.
func (r *repository) isBusy(issue int) bool {
	if _, err := r.shelf.Read(issue); err == nil {
		return true
	}
	h := r.sessions.of(issue)
	return h != nil && h.live()
}

// readPull reads the reviews of an open pull request, if it is of a session, and returns when to try
// again.
func (r *repository) readPull(ctx context.Context, number int) (again time.Duration) {
	if r.sessions.ofPull(number) == nil {
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

// aim tells the watch of what goes on in the repositories.
func (b *Bot) aim() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var targets []intake.Target
	for _, r := range b.repos {
		targets = append(targets, intake.Target{Client: r.account.Client, Repo: r.name(), ID: r.id, Mode: r.sessions.mode(), Swept: r.swept, Busy: r.bot.queue.Waits(r.id)})
	}
	if slices.Equal(targets, b.targets) {
		return
	}
	b.targets = targets
	b.watch.Set(targets)
}

package bot

import (
	"context"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync"
)

// found takes in what may have changed in the repository. What fails is handed to it again.
func (r *repository) found(ctx context.Context, c intake.Changes) error {
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
		if err := r.changed(ctx, p); err != nil {
			return err
		}
	}
	r.mu.Lock()
	for _, number := range c.Left {
		r.left[number] = true
	}
	r.mu.Unlock()
	r.bot.aim()
	return nil
}

// isBusy reports whether an issue has a ticket or a session that is under way.
func (r *repository) isBusy(issue int) bool {
	if _, err := r.shelf.Read(issue); err == nil {
		return true
	}
	h := r.session(issue)
	return h != nil && h.live()
}

// changed reads the reviews of an open pull request of a session.
func (r *repository) changed(ctx context.Context, p ghsync.OpenPull) error {
	r.mu.Lock()
	delete(r.left, p.Number)
	r.mu.Unlock()
	if r.sessionOfPull(p.Number) == nil {
		return nil
	}
	reviews, err := ghsync.Intake{Client: r.account.Client}.Reviews(ctx, r.name(), p.Number)
	if err != nil {
		return err
	}
	r.ear.HearReviews(p.Number, reviews...)
	return nil
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

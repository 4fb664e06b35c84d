package bot

import (
	"time"

	"github.com/agentmux/agentmux/bot/intake"
)

// found takes in what may have changed in the repository.
func (r *repository) found(c intake.Changes) {
	c = c.Of(r.bot.Issue, func(pull int) bool {
		h := r.sessions.ofPull(pull) // a runner may have sessions of other issues, too
		return pull == r.bot.Pull || h != nil && h.issue == r.bot.Issue
	})
	for _, candidate := range c.Candidates {
		r.met.Add(candidate.Issue, time.Time{})
	}
	for _, issue := range c.Issues {
		switch {
		case issue.Pull == "" && issue.Closed && r.isBusy(issue.Number):
			r.met.Add(issue.Number, time.Time{})
		case issue.Pull != "" && !issue.Closed && r.sessions.ofPull(issue.Number) == nil:
			r.pulls.Add(issue.Number, time.Time{}) // the list of pull requests is read for sessions that are here
		case issue.Pull != "" && issue.Closed && r.sessions.ofPull(issue.Number) != nil:
			r.left(issue.Number)
		case issue.Pull != "":
			r.sessions.pulls.Reopened(issue.Number)
		}
	}
	r.ear.Hear(c.Comments...)
	for _, p := range c.Pulls {
		r.sessions.pulls.Opened(p)
		if p.Marked || r.sessions.ofPull(p.Number) != nil {
			r.pulls.Add(p.Number, time.Time{})
		}
	}
	for _, number := range c.Left {
		r.left(number)
	}
	if c.Whole || len(c.Pulls) > 0 { // the list of pull requests was read
		for _, h := range r.sessions.all() {
			s := h.state.Load()
			if closed, ask := r.sessions.pulls.Unlisted(s, c.Whole, time.Duration(r.bot.Config.Followup.Days)*24*time.Hour, r.bot.Now()); closed {
				r.left(s.Completion.PRNumber)
			} else if ask {
				r.pulls.Add(s.Completion.PRNumber, time.Time{})
			}
		}
	}
	r.bot.aim()
}

// left takes in that a pull request is closed.
func (r *repository) left(number int) {
	r.sessions.pulls.Closed(number)
	r.follow.Leave(number)
	r.keeper.Look()
}

// isBusy reports whether an issue has a ticket or a session that is under way.
func (r *repository) isBusy(issue int) bool {
	if _, err := r.shelf.Read(issue); err == nil {
		return true
	}
	h := r.sessions.of(issue)
	return h != nil && h.live()
}

package bot

import (
	"errors"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/report"
	"github.com/agentmux/agentmux/bot/tenure"
)

// Report returns how the bot does.
func (b *Bot) Report() report.Report {
	q := b.queue.Facts()
	r := report.Report{
		Slots: b.Slots, Taken: q.Taken, Tickets: q.Tickets, Oldest: q.Oldest, Waits: q.Waits, Lacks: q.Lacks, Paused: b.Machine.Paused(), Sessions: map[string]int{},
	}
	r.Absent, r.Quotas, r.Traffic = b.Accounts.Absent(), b.Accounts.Quotas(), b.Accounts.Traffic()
	facts := b.facts()
	for _, repo := range b.all() {
		one := report.Repository{Facts: facts[repo.id], Commands: len(repo.journal.Pending())}
		one.Repo, one.RepoID = repo.name(), repo.id
		if one.Err != nil {
			one.Err = errors.New(b.Host.Redactor.Line(one.Err))
		}
		one.Rounds, one.Told = repo.follow.Counts()
		if d, ok := repo.desk.(*claim.Remote); ok {
			one.Beats, one.Missed = d.Beats()
		}
		for _, h := range repo.sessions.all() {
			if h.claim() != nil {
				one.Claims++
			}
			s := h.state.Load()
			for _, e := range s.Pending {
				r.Owe(e.Since.Time, b.Now())
			}
			if !s.Ended() {
				r.Sessions[tenure.Does(s)]++
			}
		}
		r.Repositories = append(r.Repositories, one)
	}
	b.counts.Into(&r)
	return r
}

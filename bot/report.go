package bot

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator"
)

// Report is how the bot does now.
type Report struct {
	Repositories []RepositoryReport
	// Unserved are repositories that could not be opened yet, and why.
	Unserved map[string]string
	Paused   bool
	Lacks    []string // of this machine

	Slots, Taken int
	Tickets      int
	Oldest       time.Duration // for which the oldest ticket has waited

	Sessions map[string]int // under way, by what they do: working, waiting, paused
	Pending  int            // effects of sessions that are not carried out
	Refused  map[string]int // requests since the start, by row of the gate
	Accepted int            // requests since the start
	Panics   int            // of sessions since the start

	// Absent are the accounts that GitHub refuses, and Quotas the limits of each, by its installation
	// and by resource.
	Absent []account.Absence
	Quotas map[int64]map[string]transport.Quota
}

// RepositoryReport is how a repository does.
type RepositoryReport struct {
	intake.Facts
	Claims   int // that this host holds for sessions
	Commands int // whose receipts are owed
}

// counts are what happened since the start. The bot's lock is held for them.
type counts struct {
	refused  map[string]int
	accepted int
	panics   int
}

// count changes the counts.
func (b *Bot) count(change func(*counts)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts.refused == nil {
		b.counts.refused = map[string]int{}
	}
	change(&b.counts)
}

// Report returns how the bot does.
func (b *Bot) Report() Report {
	q := b.queue.Facts()
	r := Report{
		Slots: b.Slots, Taken: q.Taken, Tickets: q.Tickets, Oldest: q.Oldest, Lacks: q.Lacks, Paused: b.Machine.Paused(), Sessions: map[string]int{},
	}
	r.Absent = b.Accounts.Absent()
	r.Quotas = b.Accounts.Quotas()
	facts := b.facts()
	for _, repo := range b.all() {
		one := RepositoryReport{Facts: facts[repo.id], Commands: len(repo.journal.Pending())}
		one.Repo, one.RepoID = repo.name(), repo.id
		if one.Err != nil {
			one.Err = errors.New(b.said(one.Err))
		}
		for _, h := range repo.sessions.all() {
			if h.claim() != nil {
				one.Claims++
			}
			s := h.state.Load()
			r.Pending += len(s.Pending)
			if !s.Ended() {
				r.Sessions[does(s)]++
			}
		}
		r.Repositories = append(r.Repositories, one)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Unserved, r.Refused = maps.Clone(b.unserved), maps.Clone(b.counts.refused)
	r.Accepted, r.Panics = b.counts.accepted, b.counts.panics
	return r
}

// does says what a session that is under way does.
func does(s *orchestrator.State) string {
	switch {
	case s.Paused:
		return "paused"
	case idles(s):
		return "waiting"
	}
	return "working"
}

// failingAfter is how long something has to fail before it is a problem.
const failingAfter = time.Minute

// Problems names what a person should look at; empty if the bot serves everything.
func (r Report) Problems(now time.Time) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(r.Unserved)) {
		problems = append(problems, name+" is not served: "+r.Unserved[name])
	}
	for _, a := range r.Absent {
		problems = append(problems, strings.TrimSpace(a.Name+" "+a.Where)+" is refused by GitHub since "+a.Since.UTC().Format(time.RFC3339)+": "+a.Err.Error())
	}
	for _, repo := range r.Repositories {
		switch {
		case repo.Missing:
			problems = append(problems, repo.Repo.String()+" is gone, or the account does not see it any more")
		case repo.Err != nil && now.Sub(repo.Failing) >= failingAfter:
			problems = append(problems, repo.Repo.String()+" cannot be read since "+repo.Failing.UTC().Format(time.RFC3339)+": "+repo.Err.Error())
		}
	}
	return problems
}

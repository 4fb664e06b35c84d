// Package report is what a bot tells of itself: to people by /healthz, to machines by package metrics.
// It holds values alone.
package report

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// Report is how the bot does now.
type Report struct {
	Repositories []Repository
	// Unserved are repositories that could not be opened yet, and why.
	Unserved map[string]string
	Paused   bool
	Lacks    []string // of this machine
	// Cooling is how long the services of providers still refuse more, by provider; the longest of its logins.
	Cooling map[string]time.Duration

	Slots, Taken int
	Tickets      int
	Oldest       time.Duration // for which the oldest ticket has waited
	Waits        string        // why it does

	Sessions map[string]int  // under way, by what they do: working, waiting, paused
	Pending  int             // effects of sessions that are not carried out
	Refusing time.Duration   // since the oldest of them failed first
	Phases   map[string]Span // that ended since the start
	Refused  map[string]int  // requests since the start, by row of the gate
	Accepted int             // requests since the start
	Panics   int             // of sessions, tickets and requests since the start

	// Absent are the accounts that GitHub refuses, Quotas the limits of each, by its installation
	// and by resource, and Traffic what was sent for it.
	Absent  []account.Absence
	Quotas  map[int64]map[string]transport.Quota
	Traffic map[int64]transport.Traffic
}

// Span is how often something lasted, and how long together.
type Span struct {
	N     int
	Total time.Duration
}

// With returns the span with one more.
func (s Span) With(d time.Duration) Span { return Span{s.N + 1, s.Total + d} }

// Repository is how a repository does.
type Repository struct {
	intake.Facts
	Claims   int // that this host holds for sessions
	Commands int // whose receipts are owed
	Beats    int // of this host that reached the server since the start
	Missed   int // that did not
	Rounds   int // since the start that pull requests asked for
	Told     int // pull requests that were left to a person since then
}

// Owe adds an effect of a session that is not carried out, and since when it has failed; zero if it has not.
func (r *Report) Owe(since, now time.Time) {
	r.Pending++
	if !since.IsZero() {
		r.Refusing = max(r.Refusing, now.Sub(since))
	}
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

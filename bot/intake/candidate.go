package intake

import (
	"slices"

	"github.com/agentmux/agentmux/ghsync"
)

// Via is the source of a candidate.
type Via string

const (
	Poll    Via = "poll"    // the lists of a repository; the full sync, too
	Search  Via = "search"  // the sweep of an organisation
	Actions Via = "actions" // the event of a workflow run
	CLI     Via = "cli"     // a person at a terminal
)

// Candidate is an issue that may ask for work. Decisions use repository and number alone, on a
// reading of their own. RepoID is 0 where the source does not tell it.
type Candidate struct {
	Host, Owner, Repo string
	RepoID            int64
	Issue             int
	Via               Via
	Hint              string // for logs
}

// Changes are what a reading of one repository found. A field that is empty says nothing.
type Changes struct {
	Repo   ghsync.Repo // as it is called now
	RepoID int64
	// Candidates are the open issues with a request label among Issues. After a full sync they
	// are all open issues with one.
	Candidates []Candidate
	// Issues are those that are new or changed, closed ones too, as they are in the list.
	Issues []ghsync.Issue
	// Comments are those that are new or changed, on issues and on pull requests.
	Comments []ghsync.IssueComment
	// Pulls are the open pull requests that are new or changed, and Left the numbers of those
	// that were closed since.
	Pulls []ghsync.OpenPull
	Left  []int
	// Whole says that the list of open pull requests was read and has all of them.
	Whole bool
}

// candidate returns the record of an issue in a list; ok is false if it asks for nothing.
func candidate(host string, id int64, label string, issue ghsync.Issue, in ghsync.Repo) (c Candidate, ok bool) {
	if issue.Closed {
		return Candidate{}, false
	}
	for _, name := range issue.Labels {
		if _, request := ghsync.RequestLabel(name, label); request {
			return Candidate{Host: host, Owner: in.Owner, Repo: in.Name, RepoID: id, Issue: issue.Number, Via: Poll, Hint: name}, true
		}
	}
	return Candidate{}, false
}

// Of returns the part of the changes that is about one issue; ours reports whether a pull request
// is of a session of that issue. Of issue 0 it is all of them.
func (c Changes) Of(issue int, ours func(pull int) bool) Changes {
	if issue == 0 {
		return c
	}
	of := func(n int) bool { return n == issue || ours(n) }
	return Changes{
		Repo: c.Repo, RepoID: c.RepoID, Whole: c.Whole,
		Candidates: only(c.Candidates, func(k Candidate) bool { return k.Issue == issue }),
		Issues:     only(c.Issues, func(i ghsync.Issue) bool { return i.Number == issue }),
		Comments:   only(c.Comments, func(k ghsync.IssueComment) bool { return of(k.On) }),
		Pulls:      only(c.Pulls, func(p ghsync.OpenPull) bool { return ours(p.Number) }),
		Left:       only(c.Left, ours),
	}
}

func only[T any](all []T, is func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !is(one) })
}

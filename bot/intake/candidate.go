package intake

import "github.com/agentmux/agentmux/ghsync"

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
	is := func(n int) bool { return n == issue || ours(n) }
	part := Changes{Repo: c.Repo, RepoID: c.RepoID}
	for _, one := range c.Candidates {
		if one.Issue == issue {
			part.Candidates = append(part.Candidates, one)
		}
	}
	for _, one := range c.Issues {
		if one.Number == issue {
			part.Issues = append(part.Issues, one)
		}
	}
	for _, one := range c.Comments {
		if is(one.On) {
			part.Comments = append(part.Comments, one)
		}
	}
	for _, one := range c.Pulls {
		if ours(one.Number) {
			part.Pulls = append(part.Pulls, one)
		}
	}
	for _, pull := range c.Left {
		if ours(pull) {
			part.Left = append(part.Left, pull)
		}
	}
	return part
}

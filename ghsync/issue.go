package ghsync

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-github/v62/github"
)

// Issue is one issue as the REST interface gives it.
type Issue struct {
	Number               int
	Title, Body          string
	Closed, Locked       bool
	Author               Account
	Labels               []string
	URL                  string
	CreatedAt, UpdatedAt time.Time
}

// HasLabel reports whether the issue has the label; GitHub's label names ignore case.
func (i Issue) HasLabel(name string) bool {
	for _, l := range i.Labels {
		if sameLabel(l, name) {
			return true
		}
	}
	return false
}

// Issue reads issue n. Errors: ErrPullRequest, *NotFound (Gone: deleted), *Moved when it
// was transferred to another server-side place that is not followed.
func (c *Client) Issue(ctx context.Context, repo Repo, n int) (Issue, error) {
	i, _, err := c.api.Issues.Get(ctx, repo.Owner, repo.Name, n)
	if err != nil {
		return Issue{}, fmt.Errorf("read issue %d: %w", n, plain(err))
	}
	if i.IsPullRequest() {
		return Issue{}, fmt.Errorf("%s#%d %w", repo, n, ErrPullRequest)
	}
	return toIssue(i), nil
}

func toIssue(i *github.Issue) Issue {
	out := Issue{
		Number: i.GetNumber(), Title: i.GetTitle(), Body: i.GetBody(),
		Closed: i.GetState() == "closed", Locked: i.GetLocked(), Author: toAccount(i.GetUser()),
		URL: i.GetHTMLURL(), CreatedAt: i.GetCreatedAt().UTC(), UpdatedAt: i.GetUpdatedAt().UTC(),
	}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

func toAccount(u *github.User) Account {
	return Account{Login: u.GetLogin(), ID: u.GetID(), Type: u.GetType()}
}

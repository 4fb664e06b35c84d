package ghsync

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/sanitize"
	"github.com/google/go-github/v62/github"
)

// Issue is one issue as the REST interface gives it.
type Issue struct {
	Repo                 Repo // where the issue is now; after a transfer not the one asked
	Number               int
	Title, Body          sanitize.Raw
	Closed, Locked       bool
	Author               Account
	Labels               []string
	URL                  string
	CreatedAt, UpdatedAt time.Time
	Pull                 string // of a pull request in a list: the session that it says to be of
}

// HasLabel reports whether the issue has the label; GitHub's label names ignore case.
func (i Issue) HasLabel(name string) bool {
	return slices.ContainsFunc(i.Labels, func(l string) bool { return SameLabel(l, name) })
}

// Issue reads issue n. One that was transferred is read where it is now. Errors:
// ErrPullRequest, *NotFound (Gone: deleted), *Moved.
func (c *Client) Issue(ctx context.Context, repo Repo, n int) (Issue, error) {
	i, resp, err := api(c).Issues.Get(ctx, repo.Owner, repo.Name, n)
	if err != nil {
		return Issue{}, fmt.Errorf("read issue %d: %w", n, served(c, resp, err))
	}
	if i.IsPullRequest() {
		return Issue{}, fmt.Errorf("%s#%d %w", repo, n, transport.ErrPullRequest)
	}
	return toIssue(i), nil
}

func toIssue(i *github.Issue) Issue {
	out := Issue{
		Repo: repoOfURL(i.GetRepositoryURL()), Number: i.GetNumber(), Title: sanitize.Raw(i.GetTitle()), Body: sanitize.Raw(i.GetBody()),
		Closed: i.GetState() == "closed", Locked: i.GetLocked(), Author: toAccount(i.GetUser()),
		URL: i.GetHTMLURL(), CreatedAt: i.GetCreatedAt().UTC(), UpdatedAt: i.GetUpdatedAt().UTC(),
	}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

// repoOfURL is the repository at an address of the API, which ends in owner and name.
func repoOfURL(url string) Repo {
	rest, name := path.Split(url)
	return Repo{Owner: path.Base(rest), Name: name}
}

func toAccount(u *github.User) Account {
	return Account{Login: u.GetLogin(), ID: u.GetID(), Type: u.GetType()}
}

package ghsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/google/go-github/v62/github"
)

// RecentIssues returns a page of issues, changed last first; pull requests are left out.
// more tells whether there is another page. The address of a page is always the same, so an
// unchanged one costs nothing. Pages count from 1.
func (c *Client) RecentIssues(ctx context.Context, repo Repo, page int) (issues []Issue, more bool, err error) {
	return c.issues(ctx, repo, url.Values{"state": {"all"}, "sort": {"updated"}, "direction": {"desc"}}, page)
}

// LabelledIssues returns a page of the open issues with a label, oldest first.
func (c *Client) LabelledIssues(ctx context.Context, repo Repo, label string, page int) (issues []Issue, more bool, err error) {
	return c.issues(ctx, repo, url.Values{"state": {"open"}, "labels": {label}, "sort": {"created"}, "direction": {"asc"}}, page)
}

func (c *Client) issues(ctx context.Context, repo Repo, query url.Values, page int) (issues []Issue, more bool, err error) {
	query.Set("per_page", "100")
	if page > 1 {
		query.Set("page", strconv.Itoa(page))
	}
	var items []*github.Issue
	resp, err := c.send(ctx, http.MethodGet, repo.path("/issues?%s", query.Encode()), nil, &items)
	if err != nil {
		return nil, false, fmt.Errorf("list issues: %w", err)
	}
	for _, i := range items {
		if !i.IsPullRequest() {
			issues = append(issues, toIssue(i))
		}
	}
	return issues, resp.NextPage > page, nil
}

// IssueComment is a comment with the issue or pull request it stands on.
type IssueComment struct {
	Comment
	On int
}

// RecentComments returns a page of the repository's comments, changed last first.
func (c *Client) RecentComments(ctx context.Context, repo Repo, page int) (comments []IssueComment, more bool, err error) {
	query := url.Values{"sort": {"updated"}, "direction": {"desc"}, "per_page": {"100"}}
	if page > 1 {
		query.Set("page", strconv.Itoa(page))
	}
	var items []struct {
		restComment
		IssueURL string `json:"issue_url"`
	}
	resp, err := c.send(ctx, http.MethodGet, repo.path("/issues/comments?%s", query.Encode()), nil, &items)
	if err != nil {
		return nil, false, fmt.Errorf("list comments: %w", err)
	}
	for _, i := range items {
		on, err := strconv.Atoi(i.IssueURL[strings.LastIndexByte(i.IssueURL, '/')+1:])
		if err == nil {
			comments = append(comments, IssueComment{Comment: i.comment(), On: on})
		}
	}
	return comments, resp.NextPage > page, nil
}

// FoundIssue is a hit of a search: a hint that has to be read before it counts.
type FoundIssue struct {
	Repo   Repo
	Number int
}

// SearchIssues returns a page of hits, oldest first, and how many there are in all. The
// server's index lags, so a miss proves nothing.
func (c *Client) SearchIssues(ctx context.Context, query string, page int) (found []FoundIssue, total int, err error) {
	opts := &github.SearchOptions{Sort: "created", Order: "asc", ListOptions: github.ListOptions{PerPage: 100}}
	if page > 1 {
		opts.Page = page
	}
	out, resp, err := c.api.Search.Issues(ctx, query, opts)
	if err := served(resp, err); err != nil {
		return nil, 0, fmt.Errorf("search issues: %w", err)
	}
	for _, i := range out.Issues {
		parts := strings.Split(i.GetRepositoryURL(), "/")
		if len(parts) > 2 {
			found = append(found, FoundIssue{Repo: Repo{Owner: parts[len(parts)-2], Name: parts[len(parts)-1]}, Number: i.GetNumber()})
		}
	}
	return found, out.GetTotal(), nil
}

// Reactions that receipts are made of.
const (
	ReactionSeen    = "eyes"
	ReactionDone    = "+1"
	ReactionRefused = "-1"
)

// React puts a reaction of the own account on a comment; there already is success.
func (c *Client) React(ctx context.Context, repo Repo, comment int64, reaction string) error {
	in := map[string]string{"content": reaction}
	post := func() error {
		return c.do(ctx, http.MethodPost, repo.path("/issues/comments/%d/reactions", comment), in, nil)
	}
	err := post()
	if errors.As(err, new(*transport.Ambiguous)) || errors.As(err, new(*transport.Unsent)) {
		err = post() // the server keeps one of each account
	}
	if err != nil {
		return fmt.Errorf("react to comment %d: %w", comment, err)
	}
	return nil
}

// Review is a review of a pull request.
type Review struct {
	ID          int64
	Author      Account
	State       string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED
	Body        string
	Commit      string // the head it was made for
	SubmittedAt time.Time
}

// Reviews returns the reviews of a pull request, oldest first.
func (c *Client) Reviews(ctx context.Context, repo Repo, pr int) ([]Review, error) {
	var all []Review
	opts, list := &github.ListOptions{PerPage: 100, Page: 1}, &transport.Pages{}
	ctx = list.Context(ctx)
	for opts.Page > 0 {
		items, resp, err := c.api.PullRequests.ListReviews(ctx, repo.Owner, repo.Name, pr, opts)
		if err := served(resp, err); err != nil {
			return nil, fmt.Errorf("list reviews: %w", err)
		}
		for _, i := range items {
			all = append(all, Review{
				ID: i.GetID(), Author: toAccount(i.GetUser()), State: i.GetState(), Body: i.GetBody(), Commit: i.GetCommitID(), SubmittedAt: i.GetSubmittedAt().UTC(),
			})
		}
		if opts.Page, err = list.Next(opts.Page, resp.NextPage); err != nil {
			return nil, fmt.Errorf("list reviews: %w", err)
		}
	}
	return all, nil
}

// OpenPull is an open pull request in a list.
type OpenPull struct {
	Number       int
	Branch, Head string // branch and its commit
	Author       Account
	UpdatedAt    time.Time
}

// OpenPulls returns the fifty open pull requests that changed last.
func (c *Client) OpenPulls(ctx context.Context, repo Repo) ([]OpenPull, error) {
	items, resp, err := c.api.PullRequests.List(ctx, repo.Owner, repo.Name, &github.PullRequestListOptions{
		State: "open", Sort: "updated", Direction: "desc", ListOptions: github.ListOptions{PerPage: 50},
	})
	if err := served(resp, err); err != nil {
		return nil, fmt.Errorf("list open pull requests: %w", err)
	}
	var all []OpenPull
	for _, p := range items {
		all = append(all, OpenPull{
			Number: p.GetNumber(), Branch: p.GetHead().GetRef(), Head: p.GetHead().GetSHA(), Author: toAccount(p.GetUser()), UpdatedAt: p.GetUpdatedAt().UTC(),
		})
	}
	return all, nil
}

// RunState is the state of a run of GitHub Actions.
type RunState struct {
	Attempt   int
	Completed bool
}

// Run reads a run; a deleted one is a *NotFound.
func (c *Client) Run(ctx context.Context, repo Repo, id int64) (RunState, error) {
	run, resp, err := c.api.Actions.GetWorkflowRunByID(ctx, repo.Owner, repo.Name, id)
	if err := served(resp, err); err != nil {
		return RunState{}, fmt.Errorf("read run %d: %w", id, err)
	}
	return RunState{Attempt: run.GetRunAttempt(), Completed: run.GetStatus() == "completed"}, nil
}

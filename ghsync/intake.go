package ghsync

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/google/go-github/v62/github"
)

// Intake reads what is new in repositories, for a program that watches them.
type Intake struct{ Client *Client }

// RecentIssues returns a page of issues, changed last first, and of pull requests those that say to be of a session, without
// labels: they ask for nothing. more tells whether there is another page. The address of a page is always the same, so an
// unchanged one costs nothing. Pages count from 1.
func (c Intake) RecentIssues(ctx context.Context, repo Repo, page int) (issues []Issue, more bool, err error) {
	return c.issues(ctx, repo, github.IssueListByRepoOptions{State: "all", Sort: "updated", Direction: "desc"}, page)
}

// LabelledIssues returns a page of the open issues with a label, oldest first.
func (c Intake) LabelledIssues(ctx context.Context, repo Repo, label string, page int) (issues []Issue, more bool, err error) {
	return c.issues(ctx, repo, github.IssueListByRepoOptions{State: "open", Labels: []string{label}, Sort: "created", Direction: "asc"}, page)
}

func (c Intake) issues(ctx context.Context, repo Repo, opts github.IssueListByRepoOptions, page int) (issues []Issue, more bool, err error) {
	opts.ListOptions = onePage(page)
	items, resp, err := api(c.Client).Issues.ListByRepo(ctx, repo.Owner, repo.Name, &opts)
	if err = served(c.Client, resp, err); page > numberedPages && transport.HasCode(err, transport.CodeValidation) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("list issues: %w", err)
	}
	for _, i := range items {
		of := toIssue(i)
		if m, marked := ParseMarker(i.GetBody()); marked && i.IsPullRequest() && len(opts.Labels) == 0 {
			of.Pull, of.Labels = m.Session, nil
		}
		if !i.IsPullRequest() || of.Pull != "" {
			issues = append(issues, of)
		}
	}
	return issues, continues(resp, page), nil
}

// numberedPages is how many pages of issues GitHub gives of each list: those behind it are to be
// asked for by a cursor, and their numbers are refused in a large repository. What is there comes
// forward when the issues before it have lost the label.
const numberedPages = 10

// continues reports whether there is another page. GitHub links to the next one of issues by a
// cursor, with or without its number, and takes the number, too.
func continues(resp *github.Response, page int) bool {
	return resp.NextPage > page || resp.NextPage == 0 && resp.After != ""
}

// onePage asks for one page of a hundred. The first page has no number in its address.
func onePage(page int) github.ListOptions {
	opts := github.ListOptions{PerPage: 100}
	if page > 1 {
		opts.Page = page
	}
	return opts
}

// IssueComment is a comment with the issue or pull request it is on.
type IssueComment struct {
	Comment
	On int
}

// RecentComments returns a page of the repository's comments, changed last first.
func (c Intake) RecentComments(ctx context.Context, repo Repo, page int) (comments []IssueComment, more bool, err error) {
	return c.comments(ctx, repo, github.IssueListCommentsOptions{Direction: new("desc")}, page)
}

// CommentsSince returns a page of those that changed at a time or after it, changed first first.
func (c Intake) CommentsSince(ctx context.Context, repo Repo, since time.Time, page int) (comments []IssueComment, more bool, err error) {
	return c.comments(ctx, repo, github.IssueListCommentsOptions{Direction: new("asc"), Since: &since}, page)
}

func (c Intake) comments(ctx context.Context, repo Repo, opts github.IssueListCommentsOptions, page int) (comments []IssueComment, more bool, err error) {
	opts.Sort, opts.ListOptions = new("updated"), onePage(page)
	items, resp, err := api(c.Client).Issues.ListComments(ctx, repo.Owner, repo.Name, 0, &opts)
	if err := served(c.Client, resp, err); err != nil {
		return nil, false, fmt.Errorf("list comments: %w", err)
	}
	for _, i := range items {
		on, err := strconv.Atoi(path.Base(i.GetIssueURL()))
		if err == nil {
			comments = append(comments, IssueComment{Comment: toComment(i), On: on})
		}
	}
	return comments, continues(resp, page), nil
}

// FoundIssue is a hit of a search: a hint that has to be read before it counts.
type FoundIssue struct {
	Repo   Repo
	Number int
}

// SearchIssues returns a page of hits, oldest first, and how many there are in all. The
// server's index lags, so a miss proves nothing.
func (c Intake) SearchIssues(ctx context.Context, query string, page int) (found []FoundIssue, total int, err error) {
	opts := &github.SearchOptions{Sort: "created", Order: "asc", ListOptions: onePage(page)}
	out, resp, err := api(c.Client).Search.Issues(ctx, query, opts)
	if err := served(c.Client, resp, err); err != nil {
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

// Review is a review of a pull request.
type Review struct {
	ID          int64
	NodeID      string // names it to GraphQL
	Author      Account
	State       string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED
	Body        string
	Commit      string // the head it was made for
	SubmittedAt time.Time
}

// Reviews returns the reviews of a pull request, oldest first.
func (c Intake) Reviews(ctx context.Context, repo Repo, pr int) ([]Review, error) {
	items, err := every(ctx, c.Client, "list reviews", func(ctx context.Context, opts github.ListOptions) ([]*github.PullRequestReview, *github.Response, error) {
		return api(c.Client).PullRequests.ListReviews(ctx, repo.Owner, repo.Name, pr, &opts)
	})
	var all []Review
	for _, i := range items {
		all = append(all, Review{
			ID: i.GetID(), NodeID: i.GetNodeID(), Author: toAccount(i.GetUser()), State: i.GetState(), Body: i.GetBody(), Commit: i.GetCommitID(), SubmittedAt: i.GetSubmittedAt().UTC(),
		})
	}
	return all, err
}

// OpenPull is an open pull request in a list.
type OpenPull struct {
	Number       int
	Branch, Head string // branch and its commit
	Author       Account
	UpdatedAt    time.Time
	Marked       bool // its text ends as that of a session's does
}

// OpenPulls returns the fifty open pull requests that changed last.
func (c Intake) OpenPulls(ctx context.Context, repo Repo) ([]OpenPull, error) {
	items, resp, err := api(c.Client).PullRequests.List(ctx, repo.Owner, repo.Name, &github.PullRequestListOptions{
		State: "open", Sort: "updated", Direction: "desc", ListOptions: github.ListOptions{PerPage: 50},
	})
	if err := served(c.Client, resp, err); err != nil {
		return nil, fmt.Errorf("list open pull requests: %w", err)
	}
	var all []OpenPull
	for _, p := range items {
		_, marked := ParseMarker(p.GetBody())
		all = append(all, OpenPull{p.GetNumber(), p.GetHead().GetRef(), p.GetHead().GetSHA(), toAccount(p.GetUser()), p.GetUpdatedAt().UTC(), marked})
	}
	return all, nil
}

// RunState is the state of a run of GitHub Actions.
type RunState struct {
	Attempt   int
	Completed bool
}

// Run reads a run; a deleted one is a *NotFound.
func (c Intake) Run(ctx context.Context, repo Repo, id int64) (RunState, error) {
	run, resp, err := api(c.Client).Actions.GetWorkflowRunByID(ctx, repo.Owner, repo.Name, id)
	if err := served(c.Client, resp, err); err != nil {
		return RunState{}, fmt.Errorf("read run %d: %w", id, err)
	}
	return RunState{Attempt: run.GetRunAttempt(), Completed: run.GetStatus() == "completed"}, nil
}

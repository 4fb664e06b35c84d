package ghsync

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/google/go-github/v62/github"
)

// Comments are those of issues and pull requests.
type Comments struct{ Client *Client }

// Create writes on an issue or a pull request and returns the comment's id and the id of the
// account that wrote it.
func (c Comments) Create(ctx context.Context, repo Repo, on int, body markdown.Text) (id, author int64, err error) {
	made, resp, err := api(c.Client).Issues.CreateComment(ctx, repo.Owner, repo.Name, on, &github.IssueComment{Body: new(body.String())})
	if err := served(c.Client, resp, err); err != nil {
		return 0, 0, fmt.Errorf("comment on %d: %w", on, err)
	}
	return made.GetID(), made.GetUser().GetID(), nil
}

// Edit replaces the text of a comment. It sends its request by hand: the library would read
// the answer, and an edit has succeeded whatever is in it.
func (c Comments) Edit(ctx context.Context, repo Repo, id int64, body markdown.Text) error {
	in := map[string]string{"body": body.String()}
	if err := c.Client.do(ctx, http.MethodPatch, repo.path("/issues/comments/%d", id), in, nil); err != nil {
		return fmt.Errorf("edit comment %d: %w", id, err)
	}
	return nil
}

// Delete succeeds if the comment is not there.
func (c Comments) Delete(ctx context.Context, repo Repo, id int64) error {
	resp, err := api(c.Client).Issues.DeleteComment(ctx, repo.Owner, repo.Name, id)
	if err = served(c.Client, resp, err); err != nil && !transport.IsNotFound(err) {
		return fmt.Errorf("delete comment %d: %w", id, err)
	}
	return nil
}

// Since lists the comments of an issue or a pull request that changed at or after
// since, oldest first.
func (c Comments) Since(ctx context.Context, repo Repo, n int, since time.Time) ([]Comment, error) {
	items, err := every(ctx, c.Client, "list comments", func(ctx context.Context, page github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
		opts := &github.IssueListCommentsOptions{Since: new(since.UTC()), ListOptions: page}
		return api(c.Client).Issues.ListComments(ctx, repo.Owner, repo.Name, n, opts)
	})
	var all []Comment
	for _, i := range items {
		all = append(all, toComment(i))
	}
	return all, err
}

// every returns the items of all pages of a list.
func every[T any](ctx context.Context, c *Client, what string, read func(context.Context, github.ListOptions) ([]T, *github.Response, error)) ([]T, error) {
	var all []T
	opts, list := github.ListOptions{PerPage: 100, Page: 1}, &transport.Pages{}
	ctx = list.Context(ctx)
	for opts.Page > 0 {
		items, resp, err := read(ctx, opts)
		if err = served(c, resp, err); err == nil {
			opts.Page, err = list.Next(opts.Page, resp.NextPage)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		all = append(all, items...)
	}
	return all, nil
}

package ghsync

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// Sink takes what the mirror writes. A Client's sink writes to GitHub.
type Sink interface {
	// CreateComment writes on an issue or a pull request and returns the comment's id and
	// the id of the account that wrote it.
	CreateComment(ctx context.Context, on int, body string) (id, author int64, err error)
	EditComment(ctx context.Context, id int64, body string) error
	// DeleteComment succeeds if the comment is not there.
	DeleteComment(ctx context.Context, id int64) error
	// AddLabel returns the names of all labels of the issue, as far as it knows them.
	AddLabel(ctx context.Context, issue int, name string) ([]string, error)
	// RemoveLabel succeeds if the label is not there.
	RemoveLabel(ctx context.Context, issue int, name string) error
}

// Sink returns the sink that writes to repo.
func (c *Client) Sink(repo Repo) Sink { return clientSink{c: c, repo: repo} }

type clientSink struct {
	c    *Client
	repo Repo
}

func (s clientSink) CreateComment(ctx context.Context, on int, body string) (id, author int64, err error) {
	var made restComment
	in := map[string]string{"body": body}
	if err := s.c.do(ctx, http.MethodPost, s.repo.path("/issues/%d/comments", on), in, &made); err != nil {
		return 0, 0, fmt.Errorf("comment on %d: %w", on, err)
	}
	return made.ID, made.User.account().ID, nil
}

func (s clientSink) EditComment(ctx context.Context, id int64, body string) error {
	in := map[string]string{"body": body}
	if err := s.c.do(ctx, http.MethodPatch, s.repo.path("/issues/comments/%d", id), in, nil); err != nil {
		return fmt.Errorf("edit comment %d: %w", id, err)
	}
	return nil
}

func (s clientSink) DeleteComment(ctx context.Context, id int64) error {
	err := s.c.do(ctx, http.MethodDelete, s.repo.path("/issues/comments/%d", id), nil, nil)
	if err != nil && !transport.IsNotFound(err) {
		return fmt.Errorf("delete comment %d: %w", id, err)
	}
	return nil
}

func (s clientSink) AddLabel(ctx context.Context, issue int, name string) ([]string, error) {
	return s.c.AddLabel(ctx, s.repo, issue, name)
}

func (s clientSink) RemoveLabel(ctx context.Context, issue int, name string) error {
	return s.c.RemoveLabel(ctx, s.repo, issue, name)
}

// CommentsSince lists the comments of an issue or a pull request that changed at or after
// since, oldest first.
func (c *Client) CommentsSince(ctx context.Context, repo Repo, n int, since time.Time) ([]Comment, error) {
	var all []Comment
	list := &transport.Pages{}
	for page := 1; page > 0; {
		query := url.Values{"since": {since.UTC().Format(time.RFC3339)}, "per_page": {"100"}, "page": {fmt.Sprint(page)}}
		var items []restComment
		resp, err := c.send(list.Context(ctx), http.MethodGet, repo.path("/issues/%d/comments?%s", n, query.Encode()), nil, &items)
		if err != nil {
			return nil, fmt.Errorf("list comments: %w", err)
		}
		for _, i := range items {
			all = append(all, i.comment())
		}
		if page, err = list.Next(page, resp.NextPage); err != nil {
			return nil, fmt.Errorf("list comments: %w", err)
		}
	}
	return all, nil
}

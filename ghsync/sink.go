package ghsync

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Sink takes what the mirror writes. A Client's sink writes to GitHub; a dry run prints.
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
	if err != nil && !IsNotFound(err) {
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
	for page := 1; page > 0; {
		query := url.Values{"since": {since.UTC().Format(time.RFC3339)}, "per_page": {"100"}, "page": {fmt.Sprint(page)}}
		var items []restComment
		resp, err := c.send(ctx, http.MethodGet, repo.path("/issues/%d/comments?%s", n, query.Encode()), nil, &items)
		if err != nil {
			return nil, fmt.Errorf("list comments: %w", err)
		}
		for _, i := range items {
			all = append(all, i.comment())
		}
		page = resp.NextPage
	}
	return all, nil
}

// DrySink prints what would be written, in order. Its ids are made up.
type DrySink struct {
	W io.Writer

	mu   sync.Mutex
	last int64
}

func (s *DrySink) print(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := fmt.Fprintf(s.W, format, args...)
	return err
}

// CreateComment prints the comment.
func (s *DrySink) CreateComment(_ context.Context, on int, body string) (id, author int64, err error) {
	s.mu.Lock()
	s.last++
	id = s.last
	s.mu.Unlock()
	return id, 0, s.print("comment %d on #%d:\n%s\n", id, on, indent(body))
}

// EditComment prints the new text.
func (s *DrySink) EditComment(_ context.Context, id int64, body string) error {
	return s.print("edit comment %d:\n%s\n", id, indent(body))
}

// DeleteComment prints the id.
func (s *DrySink) DeleteComment(_ context.Context, id int64) error {
	return s.print("delete comment %d\n", id)
}

// AddLabel prints the label.
func (s *DrySink) AddLabel(_ context.Context, issue int, name string) ([]string, error) {
	return nil, s.print("add label %s to #%d\n", name, issue)
}

// RemoveLabel prints the label.
func (s *DrySink) RemoveLabel(_ context.Context, issue int, name string) error {
	return s.print("remove label %s from #%d\n", name, issue)
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }

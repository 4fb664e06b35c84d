package ghsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// Record is one reading of an issue: what the gate judges and what the snapshot is taken
// from, so that nothing can change in between.
type Record struct {
	Repository Repository
	Issue      Issue
	Labels     []LabelEvent // oldest first
	Renames    []Rename     // oldest first
	// BodyEdits are known only with EditorsKnown; a server without GraphQL does not say
	// who edited.
	BodyEdits    []Edit
	EditorsKnown bool
	Comments     []Comment // oldest first; the newest ones if there are very many
	Unread       int       // comments older than Comments
	ReadAt       time.Time
}

// LabelEvent is a label put on (Added) or taken off.
type LabelEvent struct {
	Name  string
	Added bool
	At    time.Time
	Actor Account
}

// Rename is a change of the title.
type Rename struct {
	From, To string
	At       time.Time
	Actor    Account
}

// Edit is a change of the body.
type Edit struct {
	At     time.Time
	Editor Account
}

// Comment is one comment of an issue or a pull request.
type Comment struct {
	ID          int64
	Body, URL   string
	Author      Account
	Association string // OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE...
	CreatedAt   time.Time
	EditedAt    time.Time // last edit, or CreatedAt
	Minimized   bool
}

const (
	commentPage = 100
	// maxComments bounds what is read of one issue: ten requests.
	maxComments = 1000
)

// Record reads issue n once, with one GraphQL query for most issues. Errors as Issue.
func (c *Client) Record(ctx context.Context, repo Repo, n int) (Record, error) {
	record, err := c.recordByGraphQL(ctx, repo, n)
	if errors.Is(err, errNoGraphQL) {
		record, err = c.recordByREST(ctx, repo, n)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read %s#%d: %w", repo, n, err)
	}
	record.ReadAt = c.now().UTC()
	return record, nil
}

func (c *Client) recordByREST(ctx context.Context, repo Repo, n int) (Record, error) {
	var r Record
	var err error
	if r.Repository, err = c.Repository(ctx, repo.Owner, repo.Name); err != nil {
		return r, err
	}
	if r.Issue, err = c.Issue(ctx, repo, n); err != nil {
		return r, err
	}
	if err = c.readTimeline(ctx, repo, n, &r); err != nil {
		return r, err
	}
	r.Comments, r.Unread, err = c.comments(ctx, repo, n)
	return r, err
}

// readTimeline fills Labels and Renames. A server without timelines may have the older list
// of events; both hold these in the same form. With neither nobody is known to have put a
// label on, and the gate lets no such request pass.
func (c *Client) readTimeline(ctx context.Context, repo Repo, n int, r *Record) error {
	err := c.readEvents(ctx, repo.path("/issues/%d/timeline", n), r)
	if transport.IsNotFound(err) {
		err = c.readEvents(ctx, repo.path("/issues/%d/events", n), r)
	}
	if err != nil && !transport.IsNotFound(err) {
		return fmt.Errorf("read timeline: %w", err)
	}
	return nil
}

// readEvents adds what one of the lists holds to Labels and Renames.
func (c *Client) readEvents(ctx context.Context, path string, r *Record) error {
	list := &transport.Pages{}
	for page := 1; page > 0; {
		var items []struct {
			Event     string    `json:"event"`
			CreatedAt time.Time `json:"created_at"`
			Actor     *restUser `json:"actor"`
			Label     struct {
				Name string `json:"name"`
			} `json:"label"`
			Rename struct {
				From string `json:"from"`
				To   string `json:"to"`
			} `json:"rename"`
		}
		resp, err := c.send(list.Context(ctx), http.MethodGet, fmt.Sprintf("%s?per_page=100&page=%d", path, page), nil, &items)
		if err != nil {
			return err
		}
		for _, i := range items {
			switch i.Event {
			case "labeled", "unlabeled":
				r.Labels = append(r.Labels, LabelEvent{Name: i.Label.Name, Added: i.Event == "labeled", At: i.CreatedAt.UTC(), Actor: i.Actor.account()})
			case "renamed":
				r.Renames = append(r.Renames, Rename{From: i.Rename.From, To: i.Rename.To, At: i.CreatedAt.UTC(), Actor: i.Actor.account()})
			}
		}
		if page, err = list.Next(page, resp.NextPage); err != nil {
			return err
		}
	}
	return nil
}

type restUser struct {
	Login string `json:"login"`
	ID    int64  `json:"id"`
	Type  string `json:"type"`
}

func (u *restUser) account() Account {
	if u == nil {
		return Account{}
	}
	return Account{Login: u.Login, ID: u.ID, Type: u.Type}
}

// restComment is a comment of the REST interface; node and edit details are not in it.
type restComment struct {
	ID          int64     `json:"id"`
	Body        string    `json:"body"`
	URL         string    `json:"html_url"`
	User        *restUser `json:"user"`
	Association string    `json:"author_association"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

func (r restComment) comment() Comment {
	return Comment{
		ID: r.ID, Body: r.Body, URL: r.URL, Author: r.User.account(), Association: r.Association,
		CreatedAt: r.CreatedAt.UTC(), EditedAt: r.UpdatedAt.UTC(),
	}
}

// comments reads all comments, oldest first, but no more than the newest maxComments.
func (c *Client) comments(ctx context.Context, repo Repo, n int) (all []Comment, unread int, err error) {
	list := &transport.Pages{}
	for page := 1; page > 0; {
		var items []restComment
		resp, err := c.send(list.Context(ctx), http.MethodGet, repo.path("/issues/%d/comments?per_page=%d&page=%d", n, commentPage, page), nil, &items)
		if err != nil {
			return nil, 0, fmt.Errorf("list comments: %w", err)
		}
		for _, i := range items {
			all = append(all, i.comment())
		}
		next, err := list.Next(page, resp.NextPage)
		if err != nil {
			return nil, 0, fmt.Errorf("list comments: %w", err)
		}
		// The interface sorts oldest first only: of very many, skip to the newest pages.
		if first := resp.LastPage - maxComments/commentPage + 1; page == 1 && first > next {
			unread, all, next = (first-1)*commentPage, nil, first
		}
		page = next
	}
	return all, unread, nil
}

package ghsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/sanitize"
	"github.com/google/go-github/v62/github"
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
	ReadAt       time.Time // no part of the reading is older
}

// LabelEvent is a label that was added (Added) or removed.
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
	Body        sanitize.Raw
	URL         string
	Author      Account
	Association string // OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE...
	CreatedAt   time.Time
	EditedAt    time.Time // last edit, or CreatedAt
	Minimized   bool
	Reacted     bool // it has reactions; not told by a reading of a whole issue
}

const (
	commentPage = 100
	eventPage   = 100
	// maxComments bounds what is read of one issue: ten requests.
	maxComments = 1000
)

// Record reads issue n once, with one GraphQL query for most issues. Errors as Issue.
func (c *Client) Record(ctx context.Context, repo Repo, n int) (Record, error) {
	reader, at := recordReader{c}, c.Now().UTC()
	record, err := reader.byGraphQL(ctx, repo, n)
	if errors.Is(err, errNoGraphQL) || transport.IsForeign(err) {
		record, err = reader.byREST(ctx, repo, n)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read %s#%d: %w", repo, n, err)
	}
	record.ReadAt = at
	return record, nil
}

// recordReader reads issues in the ways that servers have.
type recordReader struct{ c *Client }

func (r recordReader) byREST(ctx context.Context, repo Repo, n int) (Record, error) {
	var record Record
	var err error
	if record.Repository, err = r.c.Repository(ctx, repo.Owner, repo.Name); err != nil {
		return record, err
	}
	if record.Issue, err = r.c.Issue(ctx, repo, n); err != nil {
		return record, err
	}
	if err = r.readTimeline(ctx, repo, n, &record); err != nil {
		return record, err
	}
	record.Comments, record.Unread, err = r.comments(ctx, repo, n)
	return record, err
}

// readTimeline fills Labels and Renames. A server without timelines may have the older list
// of events; both hold these in the same form. With neither it is unknown who added a label,
// and the gate lets no such request pass.
func (r recordReader) readTimeline(ctx context.Context, repo Repo, n int, record *Record) error {
	err := r.readEvents(ctx, repo.path("/issues/%d/timeline", n), record)
	if transport.IsNotFound(err) {
		err = r.readEvents(ctx, repo.path("/issues/%d/events", n), record)
	}
	if err != nil && !transport.IsNotFound(err) {
		return fmt.Errorf("read timeline: %w", err)
	}
	return nil
}

// readEvents adds what one of the lists holds to Labels and Renames. It decodes the list by
// itself: the library has a type for each of the two, and reads fields of kinds of events that
// do not matter here, of which one in an unknown form would make the list unreadable.
func (r recordReader) readEvents(ctx context.Context, path string, record *Record) error {
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
		resp, err := r.c.send(list.Context(ctx), http.MethodGet, fmt.Sprintf("%s?per_page=100&page=%d", path, page), nil, &items)
		if err != nil {
			return err
		}
		for _, i := range items {
			switch i.Event {
			case "labeled", "unlabeled":
				record.Labels = append(record.Labels, LabelEvent{Name: i.Label.Name, Added: i.Event == "labeled", At: i.CreatedAt.UTC(), Actor: i.Actor.account()})
			case "renamed":
				record.Renames = append(record.Renames, Rename{From: i.Rename.From, To: i.Rename.To, At: i.CreatedAt.UTC(), Actor: i.Actor.account()})
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

func toComment(i *github.IssueComment) Comment {
	return Comment{
		ID: i.GetID(), Body: sanitize.Raw(i.GetBody()), URL: i.GetHTMLURL(), Author: toAccount(i.GetUser()), Association: i.GetAuthorAssociation(),
		CreatedAt: i.GetCreatedAt().UTC(), EditedAt: i.GetUpdatedAt().UTC(), Reacted: i.GetReactions().GetTotalCount() > 0,
	}
}

// comments reads all comments, oldest first, but no more than the newest maxComments.
func (r recordReader) comments(ctx context.Context, repo Repo, n int) (all []Comment, unread int, err error) {
	opts, list := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: commentPage, Page: 1}}, &transport.Pages{}
	ctx = list.Context(ctx)
	for opts.Page > 0 {
		items, resp, err := api(r.c).Issues.ListComments(ctx, repo.Owner, repo.Name, n, opts)
		if err := served(r.c, resp, err); err != nil {
			return nil, 0, fmt.Errorf("list comments: %w", err)
		}
		for _, i := range items {
			all = append(all, toComment(i))
		}
		next, err := list.Next(opts.Page, resp.NextPage)
		if err != nil {
			return nil, 0, fmt.Errorf("list comments: %w", err)
		}
		// The interface sorts oldest first only: of very many, skip to the newest pages.
		if first := resp.LastPage - maxComments/commentPage + 1; opts.Page == 1 && first > next {
			unread, all, next = (first-1)*commentPage, nil, first
		}
		opts.Page = next
	}
	return all, unread, nil
}

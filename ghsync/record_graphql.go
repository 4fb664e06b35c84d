package ghsync

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/sanitize"
)

const actorFields = `fragment Actor on Actor {
  __typename login
  ... on User { databaseId }
  ... on Bot { databaseId }
  ... on Mannequin { databaseId }
  ... on Organization { databaseId }
}`

// maxEdits is how many edits of an issue's text a reading has. GitHub gives the newest first.
const maxEdits = 100

const commentFields = `fragment CommentFields on IssueComment {
  body url authorAssociation createdAt lastEditedAt isMinimized
  author { ...Actor }
}`

const gateDocument = `query Gate($owner: String!, $name: String!, $number: Int!) {
  viewer { __typename login databaseId }
  repository(owner: $owner, name: $name) {
    databaseId name url isPrivate isFork isArchived isDisabled hasIssuesEnabled viewerPermission
    owner { login }
    defaultBranchRef { name }
    parent { databaseId name owner { login } }
    issueOrPullRequest(number: $number) {
      __typename
      ... on Issue {
        number title body state locked url createdAt updatedAt
        author { ...Actor }
        labels(first: 100) { pageInfo { hasNextPage } nodes { name } }
        userContentEdits(first: 100) { nodes { editedAt editor { ...Actor } } }
        timelineItems(last: 100, itemTypes: [LABELED_EVENT, UNLABELED_EVENT, RENAMED_TITLE_EVENT]) {
          nodes {
            __typename
            ... on LabeledEvent { createdAt label { name } actor { ...Actor } }
            ... on UnlabeledEvent { createdAt label { name } actor { ...Actor } }
            ... on RenamedTitleEvent { createdAt previousTitle currentTitle actor { ...Actor } }
          }
        }
        comments(last: 100) {
          totalCount
          pageInfo { hasPreviousPage startCursor }
          nodes { ...CommentFields }
        }
      }
    }
  }
}
` + commentFields + "\n" + actorFields

const commentsDocument = `query Comments($owner: String!, $name: String!, $number: Int!, $before: String!) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) {
      comments(last: 100, before: $before) {
        totalCount
        pageInfo { hasPreviousPage startCursor }
        nodes { ...CommentFields }
      }
    }
  }
}
` + commentFields + "\n" + actorFields

// gqlActor is null for a deleted account.
type gqlActor struct {
	Typename   string `json:"__typename"`
	Login      string `json:"login"`
	DatabaseID int64  `json:"databaseId"`
}

func (a *gqlActor) account() Account {
	if a == nil {
		return Account{}
	}
	login := a.Login
	if a.Typename == "Bot" && !strings.HasSuffix(login, "[bot]") {
		login += "[bot]" // REST's name of the same account
	}
	return Account{Login: login, ID: a.DatabaseID, Type: a.Typename}
}

type gqlComments struct {
	TotalCount int `json:"totalCount"`
	PageInfo   struct {
		HasPreviousPage bool   `json:"hasPreviousPage"`
		StartCursor     string `json:"startCursor"`
	} `json:"pageInfo"`
	Nodes []struct {
		Body         sanitize.Raw `json:"body"`
		URL          string       `json:"url"`
		Association  string       `json:"authorAssociation"`
		CreatedAt    time.Time    `json:"createdAt"`
		LastEditedAt *time.Time   `json:"lastEditedAt"`
		IsMinimized  bool         `json:"isMinimized"`
		Author       *gqlActor    `json:"author"`
	} `json:"nodes"`
}

func (g gqlComments) comments() []Comment {
	var all []Comment
	for _, n := range g.Nodes {
		edited := n.CreatedAt
		if n.LastEditedAt != nil {
			edited = *n.LastEditedAt
		}
		all = append(all, Comment{
			ID: commentID(n.URL), Body: n.Body, URL: n.URL, Author: n.Author.account(), Association: n.Association,
			CreatedAt: n.CreatedAt.UTC(), EditedAt: edited.UTC(), Minimized: n.IsMinimized,
		})
	}
	return all
}

// commentID takes the id from the comment's address: GraphQL's databaseId has 32 bits and
// ids of comments have outgrown them; its successor is unknown to older servers.
func commentID(address string) int64 {
	_, digits, _ := strings.Cut(address, "#issuecomment-")
	id, _ := strconv.ParseInt(digits, 10, 64)
	return id
}

type gqlNames struct {
	PageInfo struct {
		HasNextPage bool `json:"hasNextPage"`
	} `json:"pageInfo"`
	Nodes []struct {
		Name string `json:"name"`
	} `json:"nodes"`
}

type gqlRepository struct {
	DatabaseID       int64  `json:"databaseId"`
	Name             string `json:"name"`
	URL              string `json:"url"`
	IsPrivate        bool   `json:"isPrivate"`
	IsFork           bool   `json:"isFork"`
	IsArchived       bool   `json:"isArchived"`
	IsDisabled       bool   `json:"isDisabled"`
	HasIssuesEnabled bool   `json:"hasIssuesEnabled"`
	ViewerPermission string `json:"viewerPermission"`
	Owner            struct {
		Login string `json:"login"`
	} `json:"owner"`
	DefaultBranchRef *struct {
		Name string `json:"name"`
	} `json:"defaultBranchRef"`
	Parent *struct {
		DatabaseID int64  `json:"databaseId"`
		Name       string `json:"name"`
		Owner      struct {
			Login string `json:"login"`
		} `json:"owner"`
	} `json:"parent"`
	Issue *gqlIssue `json:"issueOrPullRequest"`
}

type gqlIssue struct {
	Typename         string       `json:"__typename"`
	Number           int          `json:"number"`
	Title            sanitize.Raw `json:"title"`
	Body             sanitize.Raw `json:"body"`
	State            string       `json:"state"`
	Locked           bool         `json:"locked"`
	URL              string       `json:"url"`
	CreatedAt        time.Time    `json:"createdAt"`
	UpdatedAt        time.Time    `json:"updatedAt"`
	Author           *gqlActor    `json:"author"`
	Labels           gqlNames     `json:"labels"`
	UserContentEdits struct {
		Nodes []struct {
			EditedAt time.Time `json:"editedAt"`
			Editor   *gqlActor `json:"editor"`
		} `json:"nodes"`
	} `json:"userContentEdits"`
	TimelineItems struct {
		Nodes []gqlEvent `json:"nodes"`
	} `json:"timelineItems"`
	Comments gqlComments `json:"comments"`
}

type gqlEvent struct {
	Typename      string    `json:"__typename"`
	CreatedAt     time.Time `json:"createdAt"`
	Actor         *gqlActor `json:"actor"`
	PreviousTitle string    `json:"previousTitle"`
	CurrentTitle  string    `json:"currentTitle"`
	Label         struct {
		Name string `json:"name"`
	} `json:"label"`
}

func (r recordReader) byGraphQL(ctx context.Context, repo Repo, n int) (Record, error) {
	var answer struct {
		Viewer     gqlActor
		Repository *gqlRepository
	}
	variables := map[string]any{"owner": repo.Owner, "name": repo.Name, "number": n}
	if err := r.c.ask(ctx, gateDocument, variables, &answer); err != nil {
		return Record{}, err
	}
	if own := answer.Viewer.account(); own.ID != 0 { // then Viewer need not ask for it
		r.c.mu.Lock()
		r.c.viewer = cmp.Or(r.c.viewer, &own)
		r.c.mu.Unlock()
	}
	switch {
	case answer.Repository == nil:
		return Record{}, &transport.NotFound{Kind: "repository"}
	case answer.Repository.Issue == nil:
		return Record{}, &transport.NotFound{Kind: "issue"}
	case answer.Repository.Issue.Typename != "Issue":
		return Record{}, transport.ErrPullRequest
	case answer.Repository.Issue.Number != n: // it was transferred, and the server leads there
		return Record{}, &transport.NotFound{Kind: "issue"}
	}
	record := answer.Repository.record()
	if answer.Repository.Issue.Labels.PageInfo.HasNextPage {
		issue, err := r.c.Issue(ctx, repo, n) // has all of them
		if err != nil {
			return Record{}, err
		}
		record.Issue.Labels = issue.Labels
	}
	if len(answer.Repository.Issue.TimelineItems.Nodes) >= eventPage { // there may be older ones
		record.Labels, record.Renames = nil, nil
		if err := r.readTimeline(ctx, repo, n, &record); err != nil {
			return Record{}, err
		}
	}
	page := answer.Repository.Issue.Comments
	for read := 1; page.PageInfo.HasPreviousPage && len(record.Comments) < maxComments; read++ {
		if read > 2*maxComments/commentPage {
			return Record{}, transport.Endless(fmt.Sprintf("%d pages", read))
		}
		older, err := r.olderComments(ctx, variables, page.PageInfo.StartCursor)
		if err != nil {
			return Record{}, err
		}
		record.Comments = append(older.comments(), record.Comments...)
		page = older
	}
	record.Unread = max(0, page.TotalCount-len(record.Comments))
	return record, nil
}

func (r recordReader) olderComments(ctx context.Context, variables map[string]any, before string) (gqlComments, error) {
	variables["before"] = before
	var answer struct {
		Repository struct {
			Issue struct {
				Comments gqlComments `json:"comments"`
			} `json:"issue"`
		} `json:"repository"`
	}
	err := r.c.ask(ctx, commentsDocument, variables, &answer)
	return answer.Repository.Issue.Comments, err
}

func (g *gqlRepository) record() Record {
	i := g.Issue
	r := Record{Repository: g.repository(), EditorsKnown: true, Comments: i.Comments.comments()}
	r.Issue = Issue{
		Number: i.Number, Title: i.Title, Body: i.Body, Closed: i.State == "CLOSED",
		Locked: i.Locked, Author: i.Author.account(), URL: i.URL, CreatedAt: i.CreatedAt.UTC(), UpdatedAt: i.UpdatedAt.UTC(),
	}
	for _, l := range i.Labels.Nodes {
		r.Issue.Labels = append(r.Issue.Labels, l.Name)
	}
	edits := i.UserContentEdits.Nodes
	for _, e := range edits {
		r.BodyEdits = append(r.BodyEdits, Edit{At: e.EditedAt.UTC(), Editor: e.Editor.account()})
	}
	if n := len(edits); n == maxEdits && edits[0].EditedAt.Before(edits[n-1].EditedAt) {
		r.BodyEdits = append(r.BodyEdits, Edit{At: r.Issue.UpdatedAt}) // oldest first: who made the newest is not told
	}
	slices.SortFunc(r.BodyEdits, func(a, b Edit) int { return a.At.Compare(b.At) })
	for _, e := range i.TimelineItems.Nodes {
		switch e.Typename {
		case "LabeledEvent", "UnlabeledEvent":
			r.Labels = append(r.Labels, LabelEvent{Name: e.Label.Name, Added: e.Typename == "LabeledEvent", At: e.CreatedAt.UTC(), Actor: e.Actor.account()})
		case "RenamedTitleEvent":
			r.Renames = append(r.Renames, Rename{From: e.PreviousTitle, To: e.CurrentTitle, At: e.CreatedAt.UTC(), Actor: e.Actor.account()})
		}
	}
	return r
}

func (g *gqlRepository) repository() Repository {
	level := strings.ToLower(g.ViewerPermission)
	out := Repository{
		Repo: Repo{Owner: g.Owner.Login, Name: g.Name}, ID: g.DatabaseID, Private: g.IsPrivate, Fork: g.IsFork,
		Archived: g.IsArchived, Disabled: g.IsDisabled, HasIssues: g.HasIssuesEnabled, HTMLURL: g.URL, CloneURL: g.URL + ".git",
		CanPush: level == "write" || level == "maintain" || level == "admin", CanAdmin: level == "admin", CanRead: level != "",
	}
	if level == "" { // a user's token gets at least READ of what it sees
		out.CanRead, out.CanPush, out.AccessUntold = true, true, true
	}
	if g.DefaultBranchRef != nil {
		out.DefaultBranch = g.DefaultBranchRef.Name
	}
	if g.Parent != nil {
		out.ParentOwner, out.ParentName, out.ParentID = g.Parent.Owner.Login, g.Parent.Name, g.Parent.DatabaseID
	}
	return out
}

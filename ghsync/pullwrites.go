package ghsync

import (
	"context"
	"fmt"
	"net/http"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/google/go-github/v62/github"
)

// PullWrites are the writes of [PullRequest]. A client makes them; something else may stand
// in for it, to tell what would be written.
type PullWrites interface {
	Open(ctx context.Context, repo Repo, draft PullDraft) (OpenedPull, error)
	// Edit replaces the fields that are set.
	Edit(ctx context.Context, repo Repo, number int, edit PullEdit) error
	// MarkReady makes the draft of a node id ready for review.
	MarkReady(ctx context.Context, id string) error
	RequestReview(ctx context.Context, repo Repo, number int, login string) error
}

// PullDraft is a pull request to open.
type PullDraft struct {
	Title string
	Body  markdown.Text
	Head  string // the branch; "owner:branch" if it is of another repository
	Base  string
	Draft bool // false where the server knows no drafts
}

// PullEdit is a change of a pull request. Nil fields stay as they are.
type PullEdit struct {
	Title *string        `json:"title,omitempty"`
	Body  *markdown.Text `json:"body,omitempty"`
	Base  *string        `json:"base,omitempty"`
}

// OpenedPull is a pull request as the server opened it.
type OpenedPull struct{ pr *github.PullRequest }

// NewOpenedPull returns what a server answers that gives the pull request a number.
func NewOpenedPull(number int, author Account, draft PullDraft) OpenedPull {
	return OpenedPull{&github.PullRequest{
		Number: &number, NodeID: new(fmt.Sprint(number)), State: new(string(PullRequestOpen)), Draft: &draft.Draft,
		Title: &draft.Title, Body: new(draft.Body.String()), User: &github.User{Login: &author.Login, ID: &author.ID},
	}}
}

// PullWritesOf returns the writes that c makes.
func PullWritesOf(c *Client) PullWrites { return clientPulls{c} }

// clientPulls are the writes of a client.
type clientPulls struct{ c *Client }

func (w clientPulls) Open(ctx context.Context, repo Repo, draft PullDraft) (OpenedPull, error) {
	in := &github.NewPullRequest{Title: &draft.Title, Head: &draft.Head, Base: &draft.Base, Body: new(draft.Body.String())}
	if draft.Draft {
		in.Draft = new(true)
	}
	pr, resp, err := api(w.c).PullRequests.Create(ctx, repo.Owner, repo.Name, in)
	return OpenedPull{pr}, served(w.c, resp, err)
}

func (w clientPulls) Edit(ctx context.Context, repo Repo, number int, edit PullEdit) error {
	return w.c.do(ctx, http.MethodPatch, repo.path("/pulls/%d", number), edit, nil)
}

const markReadyDocument = `mutation MarkReady($id: ID!) {
  markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } }
}`

func (w clientPulls) MarkReady(ctx context.Context, id string) error {
	var answer struct{}
	return w.c.ask(ctx, markReadyDocument, map[string]any{"id": id}, &answer)
}

func (w clientPulls) RequestReview(ctx context.Context, repo Repo, number int, login string) error {
	in := map[string]any{"reviewers": []string{login}}
	return w.c.stack.Insist(ctx, func() error {
		return w.c.do(ctx, http.MethodPost, repo.path("/pulls/%d/requested_reviewers", number), in, nil)
	})
}

package ghsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/google/go-github/v62/github"
)

// Reactions that receipts are made of.
const (
	ReactionSeen    = "eyes"
	ReactionDone    = "+1"
	ReactionRefused = "-1"
)

// Receipts are reactions that say what became of a command.
type Receipts struct{ Client *Client }

// React adds a reaction of the own account to a comment; it succeeds if it is there already.
func (r Receipts) React(ctx context.Context, repo Repo, comment int64, reaction string) error {
	return r.once(func() error {
		in := map[string]string{"content": reaction}
		return r.Client.do(ctx, http.MethodPost, repo.path("/issues/comments/%d/reactions", comment), in, nil)
	})
}

const reactDocument = `mutation React($id: ID!, $content: ReactionContent!) {
  addReaction(input: {subjectId: $id, content: $content}) { clientMutationId }
}`

// ReactToReview is React for the body of a review. given is false on a server without GraphQL,
// which has no other way.
func (r Receipts) ReactToReview(ctx context.Context, review Review, reaction string) (given bool, err error) {
	content := map[string]string{ReactionSeen: "EYES", ReactionDone: "THUMBS_UP", ReactionRefused: "THUMBS_DOWN"}[reaction]
	err = r.once(func() error {
		var answer struct{}
		return r.Client.ask(ctx, reactDocument, map[string]any{"id": review.NodeID, "content": content}, &answer)
	})
	if errors.Is(err, errNoGraphQL) {
		return false, nil
	}
	return err == nil, err
}

// once makes a reaction. The server keeps one of each account, so an unclear one is made again.
func (r Receipts) once(post func() error) error {
	err := post()
	if errors.As(err, new(*transport.Ambiguous)) || errors.As(err, new(*transport.Unsent)) {
		err = post()
	}
	if err != nil && !errors.Is(err, errNoGraphQL) {
		return fmt.Errorf("react: %w", err)
	}
	return err
}

// Given returns who gave a comment which of the reactions that receipts are made of.
func (r Receipts) Given(ctx context.Context, repo Repo, comment int64) (map[string][]Account, error) {
	items, err := every(ctx, r.Client, "list reactions", func(ctx context.Context, opts github.ListOptions) ([]*github.Reaction, *github.Response, error) {
		return api(r.Client).Reactions.ListIssueCommentReactions(ctx, repo.Owner, repo.Name, comment, &opts)
	})
	given := map[string][]Account{}
	for _, i := range items {
		given[i.GetContent()] = append(given[i.GetContent()], toAccount(i.GetUser()))
	}
	return given, err
}

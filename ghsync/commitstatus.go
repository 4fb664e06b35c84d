package ghsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentmux/agentmux/ghsync/transport"
)

// CommitState is the state of a commit status.
type CommitState string

const (
	CommitSuccess CommitState = "success"
	CommitFailure CommitState = "failure"
	CommitPending CommitState = "pending"
)

// ReviewContext is the name of the verdict on a commit.
const ReviewContext = "agentmux/review"

// maxStatusText is GitHub's limit for a status's description, in characters.
const maxStatusText = 140

// CommitStatus puts the review's verdict on exactly this commit. The same call again leaves
// the same status. target is a page people can open; it may be empty.
func (c *Client) CommitStatus(ctx context.Context, repo Repo, sha string, state CommitState, description, target string) error {
	if r := []rune(description); len(r) > maxStatusText {
		description = string(r[:maxStatusText-3]) + "..."
	}
	in := map[string]string{"state": string(state), "description": description, "context": ReviewContext}
	if target != "" {
		in["target_url"] = target
	}
	post := func() error { return c.do(ctx, http.MethodPost, repo.path("/statuses/%s", sha), in, nil) }
	err := post()
	// A status replaces the former one of its context, so a second one is harmless.
	if errors.As(err, new(*transport.Ambiguous)) || errors.As(err, new(*transport.Unsent)) {
		err = post()
	}
	if err != nil {
		return fmt.Errorf("set commit status: %w", err)
	}
	return nil
}

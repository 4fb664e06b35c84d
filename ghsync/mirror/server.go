package mirror

import (
	"context"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
)

// Server is what a mirror needs of the server on which its issue is. All parts are needed.
type Server struct {
	Comments Comments
	Labels   Labels
	Place    Place
	Verdicts Verdicts
}

// On returns the server that a client speaks with.
func On(c *ghsync.Client) Server {
	return Server{Comments: ghsync.Comments{Client: c}, Labels: c, Place: c, Verdicts: c}
}

// Comments are those of issues and pull requests, see [ghsync.Comments].
type Comments interface {
	// Create returns the comment's id and the id of the account that wrote it, 0 if unknown.
	Create(ctx context.Context, repo ghsync.Repo, on int, body markdown.Text) (id, author int64, err error)
	Edit(ctx context.Context, repo ghsync.Repo, id int64, body markdown.Text) error
	// Delete succeeds if the comment is not there.
	Delete(ctx context.Context, repo ghsync.Repo, id int64) error
	// Since lists those that changed at or after since, oldest first.
	Since(ctx context.Context, repo ghsync.Repo, on int, since time.Time) ([]ghsync.Comment, error)
}

// Labels are those of an issue, see [ghsync.Client].
type Labels interface {
	// AddLabel returns the names of all labels of the issue.
	AddLabel(ctx context.Context, repo ghsync.Repo, issue int, name string) ([]string, error)
	// RemoveLabel succeeds if the label is not there.
	RemoveLabel(ctx context.Context, repo ghsync.Repo, issue int, name string) error
}

// Place is where the issue is and who writes there, see [ghsync.Client].
type Place interface {
	// Server is the address people see, without a final slash.
	Server() string
	Viewer(ctx context.Context) (ghsync.Account, error)
	RepositoryByID(ctx context.Context, id int64) (ghsync.Repository, error)
	Issue(ctx context.Context, repo ghsync.Repo, n int) (ghsync.Issue, error)
}

// Verdicts are shown on commits, see [ghsync.Client].
type Verdicts interface {
	CommitStatus(ctx context.Context, repo ghsync.Repo, sha string, state ghsync.CommitState, text, target string) error
}

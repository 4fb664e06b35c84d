// Package guarded asks before each write to the server whether it may still be made. It stores nothing.
package guarded

import (
	"context"

	"github.com/agentmux/agentmux/ghsync"
)

// Pulls asks Guard before each write of a pull request. Its error is returned, and nothing is written.
type Pulls struct {
	Writes ghsync.PullWrites
	Guard  func(context.Context) error
}

// Open opens a pull request.
func (g Pulls) Open(ctx context.Context, repo ghsync.Repo, draft ghsync.PullDraft) (ghsync.OpenedPull, error) {
	if err := g.Guard(ctx); err != nil {
		return ghsync.OpenedPull{}, err
	}
	return g.Writes.Open(ctx, repo, draft)
}

// Edit changes one.
func (g Pulls) Edit(ctx context.Context, repo ghsync.Repo, number int, edit ghsync.PullEdit) error {
	if err := g.Guard(ctx); err != nil {
		return err
	}
	return g.Writes.Edit(ctx, repo, number, edit)
}

// MarkReady ends its time as a draft.
func (g Pulls) MarkReady(ctx context.Context, id string) error {
	if err := g.Guard(ctx); err != nil {
		return err
	}
	return g.Writes.MarkReady(ctx, id)
}

// RequestReview asks a person to look at it.
func (g Pulls) RequestReview(ctx context.Context, repo ghsync.Repo, number int, login string) error {
	if err := g.Guard(ctx); err != nil {
		return err
	}
	return g.Writes.RequestReview(ctx, repo, number, login)
}

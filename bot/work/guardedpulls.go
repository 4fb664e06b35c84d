package work

import (
	"context"

	"github.com/agentmux/agentmux/ghsync"
)

// guardedPulls asks guard before each write. Its error is returned, and nothing is written.
type guardedPulls struct {
	writes ghsync.PullWrites
	guard  func(context.Context) error
}

func (g guardedPulls) Open(ctx context.Context, repo ghsync.Repo, draft ghsync.PullDraft) (ghsync.OpenedPull, error) {
	if err := g.guard(ctx); err != nil {
		return ghsync.OpenedPull{}, err
	}
	return g.writes.Open(ctx, repo, draft)
}

func (g guardedPulls) Edit(ctx context.Context, repo ghsync.Repo, number int, edit ghsync.PullEdit) error {
	if err := g.guard(ctx); err != nil {
		return err
	}
	return g.writes.Edit(ctx, repo, number, edit)
}

func (g guardedPulls) MarkReady(ctx context.Context, id string) error {
	if err := g.guard(ctx); err != nil {
		return err
	}
	return g.writes.MarkReady(ctx, id)
}

func (g guardedPulls) RequestReview(ctx context.Context, repo ghsync.Repo, number int, login string) error {
	if err := g.guard(ctx); err != nil {
		return err
	}
	return g.writes.RequestReview(ctx, repo, number, login)
}

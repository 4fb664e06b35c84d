package mirror

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
)

// A guard is asked before each write; see [Options].
type guard func(context.Context) error

func (g guard) ask(ctx context.Context) error {
	if err := g(ctx); err != nil {
		return fmt.Errorf("check the claim: %w", err)
	}
	return nil
}

// before returns act with the guard before it; nil for nil.
func (g guard) before(act func(context.Context) error) func(context.Context) error {
	if act == nil {
		return nil
	}
	return func(ctx context.Context) error {
		if err := g.ask(ctx); err != nil {
			return err
		}
		return act(ctx)
	}
}

// guarded returns the server with a guard before each of its writes.
func (s Server) guarded(g guard) Server {
	s.Comments = guardedComments{s.Comments, g}
	s.Labels = guardedLabels{s.Labels, g}
	s.Verdicts = guardedVerdicts{s.Verdicts, g}
	return s
}

type guardedComments struct {
	Comments
	guard guard
}

func (c guardedComments) Create(ctx context.Context, repo ghsync.Repo, on int, body markdown.Text) (id, author int64, err error) {
	if err := c.guard.ask(ctx); err != nil {
		return 0, 0, err
	}
	return c.Comments.Create(ctx, repo, on, body)
}

func (c guardedComments) Edit(ctx context.Context, repo ghsync.Repo, id int64, body markdown.Text) error {
	if err := c.guard.ask(ctx); err != nil {
		return err
	}
	return c.Comments.Edit(ctx, repo, id, body)
}

func (c guardedComments) Delete(ctx context.Context, repo ghsync.Repo, id int64) error {
	if err := c.guard.ask(ctx); err != nil {
		return err
	}
	return c.Comments.Delete(ctx, repo, id)
}

type guardedLabels struct {
	Labels
	guard guard
}

func (l guardedLabels) AddLabel(ctx context.Context, repo ghsync.Repo, issue int, name string) ([]string, error) {
	if err := l.guard.ask(ctx); err != nil {
		return nil, err
	}
	return l.Labels.AddLabel(ctx, repo, issue, name)
}

func (l guardedLabels) RemoveLabel(ctx context.Context, repo ghsync.Repo, issue int, name string) error {
	if err := l.guard.ask(ctx); err != nil {
		return err
	}
	return l.Labels.RemoveLabel(ctx, repo, issue, name)
}

type guardedVerdicts struct {
	Verdicts
	guard guard
}

func (v guardedVerdicts) CommitStatus(ctx context.Context, repo ghsync.Repo, sha string, state ghsync.CommitState, text, target string) error {
	if err := v.guard.ask(ctx); err != nil {
		return err
	}
	return v.Verdicts.CommitStatus(ctx, repo, sha, state, text, target)
}

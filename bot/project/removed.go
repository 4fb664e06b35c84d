package project

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// remake makes the store of a managed project again if it was removed under a process that has it open. What
// came from the server can be fetched again; what sessions had only there is lost.
func (p *Project) remake(ctx context.Context) error {
	if !p.Managed {
		return nil
	}
	_, err := gitrepo.Open(ctx, p.Store.Dir())
	return err
}

// entries lists the files of a commit. One that a managed project lacks is fetched again.
func (p *Project) entries(ctx context.Context, commit string) ([]gitrepo.Entry, error) {
	all, err := p.Store.Entries(ctx, commit)
	if err == nil || !p.Managed || p.Remote == nil || ctx.Err() != nil {
		return all, err
	}
	again := p.remake(ctx)
	if again == nil {
		again = p.Remote.Fetch(ctx, p.Store, commit+":refs/agentmux/base/"+commit)
	}
	if again != nil {
		return nil, fmt.Errorf("%w; fetch it again: %w", err, again)
	}
	return p.Store.Entries(ctx, commit)
}

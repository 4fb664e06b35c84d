package start

import (
	"context"

	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/cmd/internal/site"
)

// dryRun prints what a run would do. The code of a run decides it, and nothing is written for
// the project, here or on the server.
func dryRun(ctx context.Context, a *site.Finder, s *site.Site, p *planned, asJSON bool) error {
	if err := useAccount(ctx, a, s, p); err != nil {
		return err
	}
	spec := p.spec
	preview, err := s.Host.Preview(ctx, spec)
	if err != nil {
		return site.ExplainRun(err)
	}
	pull := p.push && s.Config.GitHub.Push
	if asJSON {
		return show.PrintDryRunJSON(a.Console, spec, preview, pull)
	}
	show.PrintDryRun(a.Console, spec, preview, pull)
	return nil
}

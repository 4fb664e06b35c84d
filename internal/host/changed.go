package host

import (
	"context"

	"github.com/agentmux/agentmux/internal/config"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Changed lists the paths that the commit of a session would hold now, in git's order. It
// only reads, also beside the session's host.
func (h *Host) Changed(ctx context.Context, dir string, s *orchestrator.State, c *config.Config) ([]string, error) {
	if s.Integrated.Tree == "" {
		return nil, nil
	}
	sess, err := session.Open(dir)
	if err != nil {
		return nil, err
	}
	r := &runner{Host: h, sess: sess, cfg: c}
	if r.project, err = h.projectOf(ctx, sess, c); err != nil {
		return nil, err
	}
	r.repo = r.project.repo
	former, err := r.before(ctx, s.ChangeRound, s.BaseSHA)
	if err != nil {
		return nil, err
	}
	changes, err := r.repo.Changes(ctx, former.own, s.Integrated.Tree)
	var paths []string
	for _, change := range changes {
		if !ours(change.Path) {
			paths = append(paths, change.Path)
		}
	}
	return paths, err
}

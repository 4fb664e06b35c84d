package host

import (
	"context"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Changed lists the paths that the commit of a session would hold now, in git's order. It
// only reads, and may be called while a host runs the session.
func (h *Host) Changed(ctx context.Context, dir string, s *orchestrator.State, c *config.Config) ([]string, error) {
	d, err := h.Difference(ctx, dir, s, c, false)
	return d.Paths(), err
}

// Difference compares the work of a session with what its round began with: the changes that
// its gate asks about, without a gate the work so far, after the end what was committed. It
// only reads, and may be called while a host runs the session.
func (h *Host) Difference(ctx context.Context, dir string, s *orchestrator.State, c *config.Config, patch bool) (work.Difference, error) {
	if s.Integrated.Tree == "" {
		return work.Difference{}, nil
	}
	sess, err := session.Open(dir)
	if err != nil {
		return work.Difference{}, err
	}
	p, err := h.projectOf(ctx, sess, c)
	if err != nil {
		return work.Difference{}, err
	}
	return work.New(h.workOptions(c), work.Spec{Session: sess, State: s, Config: c, Project: p}).Difference(ctx, s, patch)
}

// Held lists what the open gate of a session shows that takes more than write permission to approve: held
// paths, and what the output gate blocks. It is used as Difference.
func (h *Host) Held(ctx context.Context, dir string, s *orchestrator.State, c *config.Config) ([]string, error) {
	if s.Gate == nil || s.Gate.Name != orchestrator.GateCompletion {
		return nil, nil
	}
	d, err := h.Difference(ctx, dir, s, c, false)
	if err != nil {
		return nil, err
	}
	held, findings, err := d.Held(ctx)
	return append(held, findings...), err
}

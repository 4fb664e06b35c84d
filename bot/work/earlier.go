package work

import (
	"context"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/lineage"
	"github.com/agentmux/agentmux/orchestrator"
)

// takeEarlier has the commit of a session that comes from another machine go onto what that machine pushed after the
// last checkpoint, if the branch on the server is that: see package lineage.
func (r *committing) takeEarlier(ctx context.Context, a orchestrator.Args, s *orchestrator.State, base string) error {
	pushed, err := r.repo.Ref(ctx, r.pushedRef())
	if withheld, _ := r.NoPush(); err != nil || pushed != "" || withheld != "" {
		return err
	}
	records, _, err := r.sess.Events(0)
	if err != nil || !lineage.HasMoved(records) {
		return err
	}
	tip, why, err := lineage.Branch{
		Store: r.repo, Server: *r.project.Remote, Name: a.Branch, Base: base, Trailer: sessionTrailer(s),
		Judge: func(ctx context.Context, tip string) ([]string, error) {
			return new(checkpoint.Away).Inspect(ctx, r.repo, r.gate(s.BaseSHA, ""), tip)
		},
	}.Earlier(ctx)
	if why != "" {
		r.Log.Warn("the branch on the server is not the earlier work of this session, so the work gets another one", "session", s.SessionID, "branch", a.Branch, "reason", why)
	}
	if err != nil || tip == "" {
		return err
	}
	r.Log.Info("continue the branch that the other machine pushed", "session", s.SessionID, "branch", a.Branch, "commit", tip)
	return lineage.Keep(ctx, r.repo, r.place.String(), a.Round, tip)
}

package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/lineage"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
)

// Identify gives a session of an older version an identity and refs that bear it. The refs come
// first: a start after a kill in between does the same again. A session of the tool before gets
// its identity with the upgrade of its state; it has no refs yet.
func (r *Work) Identify(ctx context.Context, s *orchestrator.State) (*orchestrator.State, error) {
	if s.Identity != "" || s.IsClassic() {
		return s, nil
	}
	if err := r.takeRefs(ctx, s); err != nil {
		return s, err
	}
	next := s.Clone()
	next.Identity = r.place.ID
	if err := r.sess.Commit(decide.Step{State: next, Changed: true}); err != nil {
		return s, fmt.Errorf("note the identity of %s: %w", r.sess.Name(), err)
	}
	crash.Point("note identity", "")
	return next, nil
}

// takeRefs moves the refs of an older version, which bear the name of the session alone, to
// refs of this session. Sessions of that name in other clones wrote to the same ones, so only
// what this session's own records name is taken. Anything else stays where it is: it belongs
// to another session.
func (r *Work) takeRefs(ctx context.Context, s *orchestrator.State) error {
	if s.Identity != "" || s.IsClassic() {
		return nil
	}
	mine, err := r.recorded(s)
	if err != nil {
		return fmt.Errorf("take over the refs of %s: %w", r.sess.Name(), err)
	}
	former, own := r.sess.Name(), r.place.String()
	if err := r.RecordedRefs(ctx, s); err != nil {
		return err
	}
	for _, at := range append(gitrepo.SessionRefs(former), strings.TrimSuffix(gitrepo.PreservedRef(former, ""), "/")) {
		refs, err := r.repo.Refs(ctx, at)
		if err != nil {
			return fmt.Errorf("take over the refs of %s: %w", former, err)
		}
		for _, ref := range slices.Sorted(maps.Keys(refs)) {
			if !mine[refs[ref]] {
				continue
			}
			// The name is the last part of what all of them begin with.
			to := strings.TrimSuffix(at, former) + own + strings.TrimPrefix(ref, at)
			if err := r.repo.Hold(ctx, to, refs[ref]); err != nil {
				return err
			}
			crash.Point("take ref", to)
			if err := r.repo.DeleteRef(ctx, ref, refs[ref]); err != nil {
				return err
			}
			crash.Point("leave ref", ref)
		}
	}
	return nil
}

// RecordedRefs makes the refs that the records alone tell of: a later session of the name may
// have taken what was there. A head that went on after the last record is made again from the
// workspaces.
func (r *Work) RecordedRefs(ctx context.Context, s *orchestrator.State) error {
	records, _, err := r.sess.Events(0)
	if err != nil {
		return fmt.Errorf("take over the refs of %s: %w", r.sess.Name(), err)
	}
	own := r.place.String()
	want := lineage.Refs(records, func(agent string) string {
		if agent == "" {
			return own
		}
		return strings.TrimSuffix(own, r.place.ID) + "-" + agent + "-" + r.place.ID
	})
	if s.Integrated.Commit != "" && s.Integrated.Commit != s.BaseSHA {
		want[gitrepo.IntegrationRef(own)] = s.Integrated.Commit
	}
	if id := want[gitrepo.PushedRef(own)]; id != "" && r.project.Remote != nil {
		// What another machine pushed does not come along with a checkpoint.
		if _, err := r.repo.Resolve(ctx, id); errors.Is(err, gitrepo.ErrNoCommit) {
			if _, err := r.fetchBranch(ctx, s.FeatureBranch); err != nil {
				return err
			}
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(want)) {
		// One that is gone shows where it is needed.
		if err := r.repo.Hold(ctx, ref, want[ref]); err != nil && !errors.Is(err, gitrepo.ErrNoCommit) {
			return err
		}
		crash.Point("make ref", ref)
	}
	return nil
}

// recorded are the commits that the session's records and its state name as its own.
func (r *Work) recorded(s *orchestrator.State) (map[string]bool, error) {
	records, _, err := r.sess.Events(0)
	if err != nil {
		return nil, err
	}
	return lineage.Commits(records, s), nil
}

package work

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Classic takes over the work of a session of the earlier tool, whose agents worked in
// the clone itself or in one worktree: its commit is the base, and a snapshot of the
// directory, which is only read, is what is integrated so far.
func (r *Work) Classic(ctx context.Context, s *orchestrator.State) (*orchestrator.ClassicDir, error) {
	dir := r.project.Clone.Root
	var worktree string
	if json.Unmarshal(s.Unknown["worktree_path"], &worktree) == nil && worktree != "" {
		dir = worktree
	}
	c := &orchestrator.ClassicDir{Identity: r.place.ID, Branch: cmp.Or(s.FeatureBranch, r.classicBranch())}
	var err error
	if c.Base, err = r.repo.FetchClone(ctx, dir, "HEAD"); err != nil {
		return nil, fmt.Errorf("take over %s: %w", dir, err)
	}
	snap, err := workspace.Take(ctx, r.repo, workspace.SnapshotSpec{
		Workspace: dir, Base: c.Base, Masked: []string{".agentmux/.sessions"}, MaxGrowth: maxGrowth, Live: true,
	})
	if err != nil {
		return nil, fmt.Errorf("take over %s: %w", dir, err)
	}
	c.Integrated = orchestrator.Integrated{Commit: c.Base, Tree: snap.Tree}
	if len(snap.Changes) == 0 {
		return c, nil
	}
	c.Integrated.Commit, err = r.repo.Commit(ctx, gitrepo.CommitSpec{
		Tree: snap.Tree, Parents: []string{c.Base}, Message: "take over the work in the clone", Author: robot, Date: r.Now(),
	})
	if err != nil {
		return nil, err
	}
	return c, r.moveIntegrated(ctx, c.Integrated.Commit)
}

func (r *Work) classicBranch() string {
	return cmp.Or(r.cfg.GitHub.BranchPrefix, "agentmux/") + session.FeatureSlug(r.sess.Name())
}

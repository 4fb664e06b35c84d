package work

import (
	"context"
	"fmt"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
)

// AdoptBranch merges what people have put on the session's branch since it was pushed into
// what is integrated, so that a change round starts from it. Done again it makes the
// same commit. A conflict changes nothing: the next push meets it again.
func (r *Work) AdoptBranch(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	if withheld, _ := r.NoPush(); withheld != "" {
		return orchestrator.Result{}, nil
	}
	tip, err := r.fetchBranch(ctx, a.Branch)
	if err != nil || tip == "" {
		return orchestrator.Result{}, err
	}
	former, err := r.before(ctx, s, a.Round, a.Base)
	if err != nil {
		return orchestrator.Result{}, err
	}
	tree, err := r.repo.Tree(ctx, a.Commit)
	if err != nil {
		return orchestrator.Result{}, err
	}
	// On top of the last commit of ours, only what people did differs on their side.
	own, err := r.repo.Commit(ctx, gitrepo.CommitSpec{
		Tree: tree, Parents: []string{former.own}, Message: "integrated\n", Author: robot, Date: a.Date.Time,
	})
	if err != nil {
		return orchestrator.Result{}, err
	}
	m, err := r.repo.Merge(ctx, own, tip)
	if err != nil || len(m.Conflicts) > 0 || m.Tree == tree {
		return orchestrator.Result{Conflicts: m.Conflicts}, err
	}
	commit, err := r.repo.Commit(ctx, gitrepo.CommitSpec{
		Tree: m.Tree, Parents: []string{a.Commit}, Message: "take over the commits on " + a.Branch + "\n", Author: robot, Date: a.Date.Time,
	})
	if err != nil {
		return orchestrator.Result{}, err
	}
	return orchestrator.Result{Commit: commit, Tree: m.Tree}, r.moveIntegrated(ctx, commit)
}

// fetchBranch brings the branch as it is on the server and returns its commit; "" if it
// is not there.
func (r *Work) fetchBranch(ctx context.Context, branch string) (string, error) {
	ref := "refs/heads/" + branch
	refs, err := r.project.Remote.Refs(ctx, r.repo, ref)
	if err != nil || len(refs) == 0 {
		return "", err
	}
	err = r.project.Remote.Fetch(ctx, r.repo, "+"+ref+":refs/remotes/origin/"+branch)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", branch, err)
	}
	return refs[0].ID, nil
}

// moveIntegrated makes a commit the session's integration head.
func (r *Work) moveIntegrated(ctx context.Context, commit string) error {
	ref := gitrepo.IntegrationRef(r.place.String())
	old, err := r.repo.Ref(ctx, ref)
	if err != nil || old == commit {
		return err
	}
	return r.repo.UpdateRef(ctx, ref, commit, old)
}

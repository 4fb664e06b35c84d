package work

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// keeping is one checkpoint that is being made.
type keeping struct {
	*workspaces
	sieve *checkpoint.Sieve
	stays string // why it must not leave the machine
}

// Checkpoint keeps the session in the store, so that it can be made again
// where this directory is not: its files below session/, unsubmitted work below work/,
// and as parents the commits of [duty.Finished]. A file that holds a secret is left out and named.
// It is pushed if there is a way, and the output gate lets those commits pass.
func (r *workspaces) Checkpoint(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	if err := r.Mend(ctx, s); err != nil { // the old checkpoint may be all that holds a file
		return orchestrator.Result{}, err
	}
	k := &keeping{workspaces: r, sieve: checkpoint.NewSieve(r.repo, r.Redactor)}
	found, left, err := r.sess.Kept(k.sieve.Room())
	if err != nil {
		return orchestrator.Result{}, fmt.Errorf("read the session: %w", err)
	}
	if kept, err := orchestrator.Decode(found[session.StateFile]); err == nil {
		s = kept // what was committed meanwhile is in it
	}
	files := k.sieve.Session(found, left)
	work, err := k.work(ctx, e.Args.Paths, s)
	if err != nil {
		return orchestrator.Result{}, err
	}
	away, err := k.away(ctx, s)
	if err != nil {
		return orchestrator.Result{}, err
	}
	tree, err := r.repo.BuildTree(ctx, files, work)
	if err != nil {
		return orchestrator.Result{}, err
	}
	ref := gitrepo.CheckpointRef(r.place.String())
	old, err := r.repo.Ref(ctx, ref)
	if err != nil {
		return orchestrator.Result{}, err
	}
	if same, err := k.same(ctx, old, tree); err != nil {
		return orchestrator.Result{}, err
	} else if same && (away == nil || away.Last == old) {
		return orchestrator.Result{Commit: old, Findings: k.sieve.Left.Names(), Refused: k.stays, Pushed: away != nil}, nil
	}
	commit, err := k.commit(ctx, s, files, tree)
	if err == nil {
		err = r.repo.UpdateRef(ctx, ref, commit, old)
	}
	if err != nil {
		return orchestrator.Result{}, fmt.Errorf("keep checkpoint: %w", err)
	}
	crash.Point("keep checkpoint", "")
	res := orchestrator.Result{Path: ref, Commit: commit, Findings: k.sieve.Left.Names(), Refused: k.stays}
	if away == nil {
		return res, nil
	}
	late, err := k.push(ctx, away, s, commit)
	if res.Pushed = late == nil; late != nil {
		res.Skipped = late.Error()
	}
	return res, err
}

// CheckpointsLeave reports whether checkpoints are pushed where the issue is claimed.
func (r *workspaces) CheckpointsLeave() bool {
	withheld, _ := r.NoPush()
	return withheld == "" && r.cfg.Checkpoint.Remote
}

// away is how this checkpoint gets to the server; nil if it stays here.
func (k *keeping) away(ctx context.Context, s *orchestrator.State) (*checkpoint.Away, error) {
	if k.Away == nil || k.Guard == nil {
		return nil, nil
	}
	if !k.CheckpointsLeave() {
		k.stays = "checkpoints are not pushed"
		return nil, nil
	}
	found, err := k.Away.Inspect(ctx, k.repo, k.gate(s.BaseSHA, ""), duty.Finished(s)...)
	if err != nil || len(found) == 0 {
		return k.Away, err
	}
	k.stays = found[0]
	k.sieve.Left["integrated work"] = k.stays + "; the checkpoint stays on this machine"
	return nil, nil
}

// parents are those of a checkpoint. Before there is a finished commit that is the base, if it is on the server: a push then
// brings what differs from it, and not the whole of each workspace.
func (k *keeping) parents(ctx context.Context, s *orchestrator.State) []string {
	if commits := duty.Finished(s); len(commits) > 0 {
		return commits
	}
	if on, err := k.repo.IsAncestor(ctx, s.BaseSHA, "refs/remotes/origin/"+s.BaseBranch); err != nil || !on {
		return nil // nothing of a person's clone that they did not push goes to the server
	}
	return []string{s.BaseSHA}
}

// push brings a checkpoint to the server, or says why that was not possible now. It never holds up a
// session that is under way: a later checkpoint makes up for it.
func (k *keeping) push(ctx context.Context, away *checkpoint.Away, s *orchestrator.State, commit string) (late, err error) {
	late = away.Push(ctx, k.repo, checkpoint.Pushing{
		To: *k.project.Remote, Session: orchestrator.PublicID(s.SessionID, s.Identity), Commit: commit,
		Final: s.Ended(), Stopped: s.Outcome == orchestrator.OutcomeCanceled, Guard: k.Guard,
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if late != nil && !errors.Is(late, checkpoint.ErrBusy) {
		late = k.Redactor.Error(late)
		k.Log.Warn("the checkpoint is not on the server", "session", k.sess.Name(), "err", late)
	}
	return late, nil
}

// commit makes the commit of a checkpoint. Its parents bring the finished commits along.
func (k *keeping) commit(ctx context.Context, s *orchestrator.State, files map[string][]byte, tree string) (string, error) {
	m := checkpoint.Manifest{
		Session: orchestrator.PublicID(s.SessionID, s.Identity), Repo: string(s.Repo), Issue: s.IssueNumber, Issues: k.team.Issues(), At: k.Now().UTC(),
		Record: s.Seq, Base: s.BaseSHA, Files: map[string]string{}, Work: k.sieve.Held, LeftOut: k.sieve.Left.Names(),
	}
	if k.Away != nil {
		m.Host = k.Away.Host
	}
	for name, data := range files {
		m.Files[strings.TrimPrefix(name, checkpoint.SessionDir+"/")] = checkpoint.Digest(data)
	}
	text, err := m.Message()
	if err != nil {
		return "", err
	}
	return k.repo.Commit(ctx, gitrepo.CommitSpec{Tree: tree, Parents: k.parents(ctx, s), Message: text, Author: robot, Date: k.Now()})
}

// ownTraces are the files that the making of a checkpoint itself changes.
var ownTraces = []string{
	"session/" + session.StateFile, "session/" + session.EventsFile, "session/" + session.ToolCursorFile, "session/" + session.MirrorFile,
}

// same reports whether nothing has happened since the last checkpoint but that it was made.
func (k *keeping) same(ctx context.Context, old, tree string) (bool, error) {
	last, err := checkpoint.ManifestOf(ctx, k.repo, old)
	if err != nil {
		return false, nil //nolint:nilerr // none, or of an older version
	}
	changes, err := k.repo.Changes(ctx, old, tree)
	if err != nil || slices.ContainsFunc(changes, func(c gitrepo.Change) bool { return !slices.Contains(ownTraces, c.Path) }) {
		return false, err
	}
	events, _, err := k.sess.Events(0)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(events, func(e orchestrator.Event) bool {
		return e.Seq > last.Record && e.Type != orchestrator.EvCheckpointSaved
	}), nil
}

// standing is what a workspace holds: what was submitted of it, or what its agents, who have
// ended, left in it.
func (k *keeping) standing(ctx context.Context, name string, w orchestrator.Workspace) (workspace.Snapshot, error) {
	if _, _, ok := duty.OfVisit(name); ok && w.Snapshot != "" {
		changes, err := k.repo.Changes(ctx, w.Base, string(w.Snapshot))
		return workspace.Snapshot{Tree: string(w.Snapshot), Changes: changes}, err
	}
	snap, _, err := k.snapshot(ctx, orchestrator.Args{Workspace: name, Dir: w.Path, Base: w.Base})
	return snap, err
}

// work takes snapshots of workspaces, also while their agents work.
func (k *keeping) work(ctx context.Context, names []string, s *orchestrator.State) (map[string]string, error) {
	trees := map[string]string{}
	for _, name := range names {
		w := s.Workspaces[name]
		snap, err := k.standing(ctx, name, w)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at := path.Join(checkpoint.WorkDir, name)
		if err != nil { // what is integrated is kept all the same
			k.sieve.Left[at] = k.Redactor.Error(err).Error()
			continue
		}
		if trees[at], err = k.sieve.Work(ctx, checkpoint.Standing{Name: name, Base: w.Base, Tree: snap.Tree, Changes: snap.Changes}); err != nil {
			return nil, err
		}
	}
	return trees, nil
}

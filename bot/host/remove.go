package host

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Removable reports whether a session has ended for good: it has its result, or failed. One
// that waits for a person has not.
func Removable(s *orchestrator.State) bool {
	return s.Phase == orchestrator.PhaseDone || s.Phase == orchestrator.PhaseFailed
}

// Remove removes a session that has ended, with everything that was made for it: agents
// that a killed host left, its tmux server, workspaces, homes, refs of the store
// and its directory, which goes last. Work of its agents that is in no branch is first put
// below refs/agentmux/preserved, where it stays. It returns *session.LockedError if a host runs
// the session, and *LeftError without having removed anything. It may be called
// again after any error or kill.
func (h *Host) Remove(ctx context.Context, dir string, c *config.Config) (work.Removed, error) {
	r, s, err := h.ended(ctx, dir, c)
	if err != nil {
		return work.Removed{}, err
	}
	defer func() { _ = r.sess.Close() }() // its file is removed by then
	var out work.Removed
	if !s.IsClassic() {
		if out, err = r.work.RemoveRefs(ctx, s); err != nil {
			return work.Removed{}, fmt.Errorf("remove %s: %w", r.sess.Name(), err)
		}
	}
	if err := r.crew.RemoveServer(ctx); err != nil {
		return out, fmt.Errorf("remove %s: %w", r.sess.Name(), err)
	}
	if s.Kind == orchestrator.KindAgents {
		roster.Unlink(r.sess)
	}
	if err := r.work.RemovePlaces(s); err != nil {
		return out, fmt.Errorf("remove %s: %w", r.sess.Name(), err)
	}
	return out, nil
}

// Vacate removes the workspaces and homes of a session that has ended, and its tmux server. The
// session, its branch and its refs stay; a later round of it makes workspaces again. What
// [Host.Remove] says of work, errors and repetition is true of it, too. Sessions of versions before the
// refs had an identity keep theirs.
func (h *Host) Vacate(ctx context.Context, dir string, c *config.Config) error {
	r, s, err := h.ended(ctx, dir, c)
	if err != nil {
		return err
	}
	defer func() { _ = r.sess.Close() }()
	if s.Identity == "" || s.IsClassic() {
		return nil
	}
	if err := r.work.KeepWorkspaces(ctx, s); err != nil {
		return fmt.Errorf("remove the workspaces of %s: %w", r.sess.Name(), err)
	}
	if err := r.crew.RemoveServer(ctx); err != nil {
		return fmt.Errorf("remove the workspaces of %s: %w", r.sess.Name(), err)
	}
	return r.work.DropPlaces(s)
}

// ended opens a session that has ended, under its lock, and ends what a killed host left of it. The
// caller closes the session.
func (h *Host) ended(ctx context.Context, dir string, c *config.Config) (r *runner, s *orchestrator.State, err error) {
	sess, err := session.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	if err := sess.Lock(0); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = sess.Close()
		}
	}()
	if s, err = sess.ReadState(); err != nil {
		return nil, nil, err
	}
	if !Removable(s) {
		return nil, nil, fmt.Errorf("%s has not ended", sess.Name())
	}
	if err := h.Trust(ctx, sess.Dir, s, c); err != nil {
		return nil, nil, err
	}
	of := work.Spec{Session: sess, State: s, Config: c}
	if s.Kind == orchestrator.KindAgents { // where its workspaces are is said by its file
		if of.Workflow, err = sess.Definition(); err != nil {
			return nil, nil, err
		}
	}
	r = h.gather(of, nil, guarding{})
	if err = r.crew.Open(s); err == nil {
		err = r.crew.EndLaunches(ctx, s)
	}
	if err == nil && !s.IsClassic() {
		var p *project.Project
		if p, err = h.projectOf(ctx, sess, c); err == nil {
			r.project = p
			r.work.Use(p)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("remove %s: %w", sess.Name(), err)
	}
	return r, s, nil
}

// workOf is the work of a session without its project: for where its places are.
func workOf(h *Host, sess *session.Session, s *orchestrator.State, c *config.Config) *work.Work {
	of := work.Spec{Session: sess, State: s, Config: c}
	if s.Kind == orchestrator.KindAgents {
		of.Workflow, _ = sess.Definition() // without its file its workspaces cannot be told from what others made
	}
	return work.New(h.workOptions(c), of)
}

// Vacant reports whether a session has no workspaces and homes.
func (h *Host) Vacant(dir string, s *orchestrator.State, c *config.Config) bool {
	sess, err := session.Open(dir)
	if err != nil {
		return true // there is nothing that could be removed
	}
	return !slices.ContainsFunc(workOf(h, sess, s, c).Places(s), func(place string) bool {
		_, err := os.Lstat(place)
		return err == nil
	})
}

// Footprint is how many bytes a session takes, its workspaces and homes included. Its part
// of the store is shared and not counted.
func (h *Host) Footprint(dir string, s *orchestrator.State, c *config.Config) int64 {
	sess, err := session.Open(dir)
	if err != nil {
		return 0
	}
	var sum int64
	for _, place := range append(workOf(h, sess, s, c).Places(s), dir) {
		_ = filepath.WalkDir(place, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
			return nil
		})
	}
	return sum
}

// Collect removes from the store of a project what no session needs any more.
func (h *Host) Collect(ctx context.Context, project string, c *config.Config) error {
	p, err := h.Projects().OpenStore(ctx, project, c)
	if err != nil {
		return err
	}
	return p.Store.Collect(ctx)
}

// RemoveCheckpoints removes from the server of the project in dir the checkpoints that checkpoint.keep keeps no
// longer, of whichever host, and returns the names of their sessions there. held tells of a name whether
// that session is claimed: its checkpoint stays.
func RemoveCheckpoints(ctx context.Context, h *Host, dir string, c *config.Config, held func(session string) bool) ([]string, error) {
	p, err := h.Projects().OpenStore(ctx, dir, c)
	if err != nil || p.Remote == nil || h.ReadOnly || h.Token == nil || h.GitHub == nil || !c.Checkpoint.Remote {
		return nil, err
	}
	return checkpoint.RemoveOld(ctx, p.Store, checkpoint.Removing{From: *p.Remote, Keep: c.Checkpoint.Keep, Held: held, Now: h.Now(), GitHub: h.GitHub, Repo: p.Repo.String()})
}

package host

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/agentmux/agentmux/bot/config"
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
	sess, err := session.Open(dir)
	if err != nil {
		return work.Removed{}, err
	}
	if err := sess.Lock(0); err != nil {
		return work.Removed{}, err
	}
	defer func() { _ = sess.Close() }() // its file is removed by then
	s, err := sess.ReadState()
	if err != nil {
		return work.Removed{}, err
	}
	if !Removable(s) {
		return work.Removed{}, fmt.Errorf("%s has not ended", sess.Name())
	}
	if err := h.Trust(ctx, sess.Dir, s, c); err != nil {
		return work.Removed{}, err
	}
	r := h.gather(work.Spec{Session: sess, State: s, Config: c}, nil, guarding{})
	if err := r.crew.Open(s); err != nil {
		return work.Removed{}, err
	}
	if err := r.crew.EndLaunches(ctx, s); err != nil {
		return work.Removed{}, fmt.Errorf("remove %s: %w", sess.Name(), err)
	}
	var out work.Removed
	if !s.IsClassic() {
		p, err := h.projectOf(ctx, sess, c)
		if err == nil {
			r.work.Use(p)
			out, err = r.work.RemoveRefs(ctx, s)
		}
		if err != nil {
			return work.Removed{}, fmt.Errorf("remove %s: %w", sess.Name(), err)
		}
	}
	if err := r.crew.RemoveServer(ctx); err != nil {
		return out, fmt.Errorf("remove %s: %w", sess.Name(), err)
	}
	if err := r.work.RemovePlaces(s); err != nil {
		return out, fmt.Errorf("remove %s: %w", sess.Name(), err)
	}
	return out, nil
}

// Footprint is how many bytes a session takes, its workspaces and homes included. Its part
// of the store is shared and not counted.
func (h *Host) Footprint(dir string, s *orchestrator.State, c *config.Config) int64 {
	sess, err := session.Open(dir)
	if err != nil {
		return 0
	}
	w := work.New(h.workOptions(c), work.Spec{Session: sess, State: s, Config: c})
	var sum int64
	for _, place := range append(w.Places(s), dir) {
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

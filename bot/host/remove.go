package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/tmux"
)

// Removed says what is left of a session that was removed.
type Removed struct {
	Repo string   // the host repository; "" if the session never had one
	Kept []string // its refs that hold work of the session which may be in no branch
}

// LeftError says that a session was not removed, because a workspace of it has files that
// cannot be kept anywhere else.
type LeftError struct {
	Workspace string
	Paths     []string
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("%s has work that git cannot keep: %s", e.Workspace, strings.Join(e.Paths, ", "))
}

// Removable reports whether a session has ended for good: it has its result, or failed. One
// that waits for a person has not.
func Removable(s *orchestrator.State) bool {
	return s.Phase == orchestrator.PhaseDone || s.Phase == orchestrator.PhaseFailed
}

// Remove removes a session that has ended, with everything that was made for it: agents
// that a killed host left, its tmux server, workspaces, homes, refs of the host repository
// and its directory, which goes last. What its agents have made and is in no branch is first
// put below refs/agentmux/preserved, where it stays. It returns *session.LockedError for a
// session somebody hosts, and *LeftError without having removed anything. It may be called
// again after any error or kill.
func (h *Host) Remove(ctx context.Context, dir string, c *config.Config) (Removed, error) {
	sess, err := session.Open(dir)
	if err != nil {
		return Removed{}, err
	}
	if err := sess.Lock(0); err != nil {
		return Removed{}, err
	}
	defer func() { _ = sess.Close() }() // its file is gone by then
	s, err := sess.ReadState()
	if err != nil {
		return Removed{}, err
	}
	if !Removable(s) {
		return Removed{}, fmt.Errorf("%s has not ended", sess.Name())
	}
	if err := h.Trust(ctx, sess.Dir, s, c); err != nil {
		return Removed{}, err
	}
	r := h.gather(workSpec{Session: sess, State: s, Config: c}, nil)
	if err := r.crew.open(s); err != nil {
		return Removed{}, err
	}
	if err := r.crew.endLaunches(ctx, s); err != nil {
		return Removed{}, fmt.Errorf("remove %s: %w", sess.Name(), err)
	}
	var out Removed
	if !s.IsClassic() {
		p, err := h.projectOf(ctx, sess, c)
		if err == nil {
			r.work.use(p)
			out, err = r.work.removeRefs(ctx, s)
		}
		if err != nil {
			return Removed{}, fmt.Errorf("remove %s: %w", sess.Name(), err)
		}
	}
	if err := r.crew.removeServer(ctx); err != nil {
		return out, fmt.Errorf("remove %s: %w", sess.Name(), err)
	}
	if err := r.work.removePlaces(s); err != nil {
		return out, fmt.Errorf("remove %s: %w", sess.Name(), err)
	}
	return out, nil
}

// removeRefs keeps the work that is nowhere else, and removes the other refs.
func (r *work) removeRefs(ctx context.Context, s *orchestrator.State) (Removed, error) {
	if err := r.takeRefs(ctx, s); err != nil {
		return Removed{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		if err := r.keepWorkspace(ctx, name, s.Workspaces[name], s); err != nil {
			return Removed{}, err
		}
	}
	name := r.place.String()
	if err := r.keepIntegrated(ctx, s); err != nil {
		return Removed{}, err
	}
	crash.Point("remove refs", name)
	for _, prefix := range gitrepo.SessionRefs(name) {
		refs, err := r.repo.Refs(ctx, prefix)
		if err != nil {
			return Removed{}, err
		}
		for ref, id := range refs {
			if err := r.repo.DeleteRef(ctx, ref, id); err != nil {
				return Removed{}, err
			}
		}
	}
	kept, err := r.repo.Refs(ctx, gitrepo.PreservedRef(name, ""))
	return Removed{Repo: r.repo.Dir(), Kept: slices.Sorted(maps.Keys(kept))}, err
}

// keepWorkspace preserves what a workspace holds beside its base and what was integrated.
// What reviewers and planners did in their copies was never work.
func (r *workspaces) keepWorkspace(ctx context.Context, name string, w orchestrator.Workspace, s *orchestrator.State) error {
	if _, err := os.Lstat(w.Path); w.Path == "" || strings.HasPrefix(name, "view/") || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	task := strings.ReplaceAll(name, "/", "-")
	snap, left, err := r.snapshot(ctx, orchestrator.Args{Workspace: name, Task: task, Dir: w.Path, Base: w.Base})
	if err != nil {
		return err
	}
	left = slices.DeleteFunc(left, func(p string) bool { return !holdsWork(filepath.Join(w.Path, p)) })
	if len(left) > 0 {
		return &LeftError{Workspace: w.Path, Paths: left}
	}
	base, err := r.repo.Tree(ctx, w.Base)
	if err != nil || snap.Tree == base || w.Used == 0 && snap.Tree == string(w.Snapshot) {
		return err
	}
	_, err = r.repo.Preserve(ctx, gitrepo.PreserveSpec{
		Session: r.place.String(), Task: task, Tree: snap.Tree, Base: w.Base, Author: robot, Date: s.CreatedAt.Time,
	})
	return err
}

// holdsWork tells files from what only looks like one, such as the socket of a program.
func holdsWork(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) == 0
}

// keepIntegrated preserves the integrated commit unless it has become the branch.
func (r *work) keepIntegrated(ctx context.Context, s *orchestrator.State) error {
	head, err := r.repo.Ref(ctx, gitrepo.IntegrationRef(r.place.String()))
	if err != nil || head == "" {
		return err
	}
	base, err := r.repo.Tree(ctx, s.BaseSHA)
	if err != nil {
		return err
	}
	tree, err := r.repo.Tree(ctx, head)
	if err != nil {
		return err
	}
	done := s.Outcome == orchestrator.OutcomeDone && (s.Completion.Pushed || s.Completion.Commit != "" && !r.project.Managed)
	if done || tree == base {
		return nil
	}
	ref := gitrepo.PreservedRef(r.place.String(), "integrated")
	old, err := r.repo.Ref(ctx, ref)
	if err != nil || old == head {
		return err
	}
	return r.repo.UpdateRef(ctx, ref, head, old)
}

// removePlaces removes what is outside of the host repository. The directory gets the name
// of one that was never finished, so that a kill leaves no half of a session.
func (r *workspaces) removePlaces(s *orchestrator.State) error {
	for _, path := range r.places(s) {
		crash.Point("remove of session", path)
		if err := dropWorkspace(path); err != nil {
			return err
		}
		if r.owns(path) {
			_ = os.Remove(filepath.Dir(path)) // stays if anything else is in it
		}
	}
	gone := fmt.Sprintf("%s.tmp-%d", r.sess.Dir, os.Getpid())
	if err := os.Rename(r.sess.Dir, gone); err != nil {
		return err
	}
	crash.Point("remove session directory", gone)
	if err := gitrepo.RemoveWorkspace(gone); err != nil {
		return err
	}
	return r.register().Remove(r.place.ID)
}

// removeServer ends the tmux server with the monitor that a person may have left open.
func (r *crew) removeServer(ctx context.Context) error {
	if err := r.panes.kill(ctx); err != nil && !errors.Is(err, tmux.ErrNoServer) {
		return err
	}
	return nil
}

// places are the directories of a session outside of its own. Of a directory that another
// session may share they are the workspaces that the state records.
func (r *workspaces) places(s *orchestrator.State) []string {
	found := []string{r.place.Homes(r.StateHome), r.own()}
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		if w := s.Workspaces[name].Path; r.owns(w) && filepath.Dir(w) != r.own() {
			found = append(found, w)
		}
	}
	return found
}

// Footprint is how many bytes a session takes, its workspaces and homes included. Its part
// of the host repository is shared and not counted.
func (h *Host) Footprint(dir string, s *orchestrator.State, c *config.Config) int64 {
	sess, err := session.Open(dir)
	if err != nil {
		return 0
	}
	w := newWork(h.workOptions(c), workSpec{Session: sess, State: s, Config: c})
	var sum int64
	for _, place := range append(w.places(s), dir) {
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

// Collect drops from the host repository of a project what no session needs any more.
func (h *Host) Collect(ctx context.Context, project string, c *config.Config) error {
	p, err := h.projects().OpenStore(ctx, project, c)
	if err != nil {
		return err
	}
	return p.Store.Collect(ctx)
}

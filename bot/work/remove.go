package work

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

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
)

// Removed says what is left of a session that was removed.
type Removed struct {
	Repo string   // the store; "" if the session never had one
	Kept []string // its refs that hold work of the session which may be in no branch
}

// LeftError says that a session was not removed, because a workspace of it has files that
// cannot be kept anywhere else.
type LeftError struct {
	Workspace string
	Paths     []string
}

// Error names the workspace and the files.
func (e *LeftError) Error() string {
	return fmt.Sprintf("%s has work that git cannot keep: %s", e.Workspace, strings.Join(e.Paths, ", "))
}

// RemoveRefs keeps the work that is nowhere else, and removes the other refs.
func (r *Work) RemoveRefs(ctx context.Context, s *orchestrator.State) (Removed, error) {
	if err := r.takeRefs(ctx, s); err != nil {
		return Removed{}, err
	}
	if err := r.KeepWorkspaces(ctx, s); err != nil {
		return Removed{}, err
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
	return r.Preserved(ctx)
}

// Preserved lists the refs that hold work of the session which may be in no branch.
func (r *Work) Preserved(ctx context.Context) (Removed, error) {
	kept, err := r.repo.Refs(ctx, gitrepo.PreservedRef(r.place.String(), ""))
	return Removed{Repo: r.repo.Dir(), Kept: slices.Sorted(maps.Keys(kept))}, err
}

// KeepWorkspaces puts what is in workspaces and nowhere else below the preserved refs, but for
// the work of the tasks in discard.
func (r *workspaces) KeepWorkspaces(ctx context.Context, s *orchestrator.State, discard ...string) error {
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		if slices.Contains(discard, duty.Worker(name)) {
			continue
		}
		if err := r.keepWorkspace(ctx, name, s.Workspaces[name], s); err != nil {
			return err
		}
	}
	return nil
}

// keepWorkspace preserves what a workspace holds beside its base and what was integrated.
// What reviewers and planners did in their copies was never work.
func (r *workspaces) keepWorkspace(ctx context.Context, name string, w orchestrator.Workspace, s *orchestrator.State) error {
	if _, err := os.Lstat(w.Path); w.Path == "" || duty.IsView(name) || errors.Is(err, fs.ErrNotExist) {
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
	committed := w.Used == 0 || s.Team[duty.Worker(name)].Commit != ""
	if err != nil || snap.Tree == base || committed && snap.Tree == string(w.Snapshot) {
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
func (r *Work) keepIntegrated(ctx context.Context, s *orchestrator.State) error {
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

// RemovePlaces removes what is outside of the store. The directory gets the name
// of one that was never finished, so that a kill leaves no half of a session.
func (r *workspaces) RemovePlaces(s *orchestrator.State) error {
	if err := r.DropPlaces(s); err != nil {
		return err
	}
	gone := fmt.Sprintf("%s.tmp-%d", r.sess.Dir, os.Getpid())
	if err := os.Rename(r.sess.Dir, gone); err != nil {
		return err
	}
	crash.Point("remove session directory", gone)
	if err := workspace.Remove(gone); err != nil {
		return err
	}
	return r.register().Remove(r.place.ID)
}

// DropPlaces removes the workspaces and homes of the session.
func (r *workspaces) DropPlaces(s *orchestrator.State) error {
	for _, path := range r.Places(s) {
		crash.Point("remove of session", path)
		if err := dropWorkspace(path); err != nil {
			return err
		}
		if r.owns(path) {
			_ = os.Remove(filepath.Dir(path)) // stays if anything else is in it
		}
	}
	return nil
}

// Places are the directories of a session outside of its own. Of a directory that another
// session may share they are the workspaces that the state records.
func (r *workspaces) Places(s *orchestrator.State) []string {
	found := []string{r.place.Homes(r.StateHome), r.own()}
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		if w := s.Workspaces[name].Path; r.owns(w) && filepath.Dir(w) != r.own() {
			found = append(found, w)
		}
	}
	return found
}

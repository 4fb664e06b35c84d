package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/spares"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/workspace"
	"github.com/agentmux/agentmux/internal/outgate"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

// robot signs the commits that never leave the store. It is fixed, so that a
// repeated effect makes the same commit.
var robot = gitrepo.Signature{Name: "agentmux", Mail: "agentmux@localhost"}

// own is the directory of the session's workspaces. It is this session's alone, so
// that it can be removed as a whole.
func (r *workspaces) own() string {
	return filepath.Join(r.workspaceRoot(), r.place.String())
}

func (r *workspaces) workspaceRoot() string {
	return cmp.Or(r.cfg.Workspace.Root, filepath.Join(r.StateHome, "workspaces"))
}

// owns reports whether a workspace that the state records lies where this session's do: below
// a root of now, or of a time when a host noted it. Older sessions have a directory by their
// name alone, in which workspaces of another project may lie, too.
func (r *workspaces) owns(workspace string) bool {
	if !filepath.IsAbs(workspace) || filepath.Clean(workspace) != workspace {
		return false
	}
	if r.ofTeam(workspace) {
		return true
	}
	roots := []string{r.workspaceRoot(), filepath.Join(r.StateHome, "workspaces")}
	if note, err := r.register().Read(r.place.ID); err == nil {
		roots = append(roots, note.Roots...)
	}
	parent := filepath.Dir(workspace)
	return slices.Contains(roots, filepath.Dir(parent)) &&
		(filepath.Base(parent) == r.place.String() || filepath.Base(parent) == r.sess.Name())
}

// LostWorkspaces names those whose directories are gone, or are not this session's.
func (r *workspaces) LostWorkspaces(s *orchestrator.State) []string {
	var lost []string
	for _, name := range slices.Sorted(maps.Keys(s.Workspaces)) {
		path := s.Workspaces[name].Path
		if path == "" {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || !r.owns(path) {
			lost = append(lost, name)
		}
	}
	return lost
}

// WorkspacePath is where a workspace lies: a new visit or another base is another
// directory, because a workspace is made once and not moved.
func (r *workspaces) WorkspacePath(a orchestrator.Args) string {
	if _, agent, ok := duty.OfVisit(a.Workspace); ok && r.team != nil && r.team.Agent(agent) != nil {
		return r.teamPlace(agent)
	}
	name := strings.ReplaceAll(a.Workspace, "/", "-")
	if _, _, ok := duty.OfVisit(a.Workspace); !ok {
		name += fmt.Sprint("-", a.Visit)
	}
	return filepath.Join(r.own(), fmt.Sprintf("%s-%.8s", name, a.Base))
}

// EnsureWorkspace makes a workspace unless it exists, and returns where.
func (r *workspaces) EnsureWorkspace(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	if a.Base == "" {
		a.Base = s.BaseSHA
	}
	dir := r.WorkspacePath(a)
	if r.ofTeam(dir) && !spares.SameDisk(r.own(), dir) || !r.spares.Take(ctx, dir, a.Base) {
		if err := r.makeWorkspace(ctx, dir, a.Base); err != nil {
			return orchestrator.Result{}, fmt.Errorf("make workspace %s: %w", a.Workspace, err)
		}
	}
	return orchestrator.Result{Path: dir}, r.branches(ctx, dir, a)
}

// branches makes those of the agents that an agent depends on in its workspace.
func (r *workspaces) branches(ctx context.Context, dir string, a orchestrator.Args) error {
	for _, branch := range slices.Sorted(maps.Keys(a.Sources)) {
		if err := clone.Export(ctx, r.repo, dir, branch, a.Sources[branch]); err != nil {
			return fmt.Errorf("make branch %s in workspace %s: %w", branch, a.Workspace, err)
		}
	}
	return nil
}

// teamPlace is where an agent of an agents file works: beside the project, where the file says.
func (r *workspaces) teamPlace(agent string) string {
	root := r.workspaceRoot()
	if r.project != nil && !r.project.Managed {
		root = filepath.Join(r.project.Clone.Root, filepath.FromSlash(r.team.WorktreeBase))
	}
	return filepath.Join(root, r.team.Session+"-"+agent)
}

// ofTeam reports whether a directory is where an agent of the agents file works.
func (r *workspaces) ofTeam(dir string) bool {
	return r.team != nil && slices.ContainsFunc(r.team.Agents, func(a agents.Agent) bool { return a.Role != agents.RoleReview && r.teamPlace(a.Name) == dir })
}

func (r *workspaces) makeWorkspace(ctx context.Context, dir, commit string) (err error) {
	if r.project.Managed {
		_, err = workspace.Make(ctx, r.repo, dir, commit)
	} else {
		_, err = workspace.MakeLocal(ctx, r.repo, dir, commit, r.project.Clone.Root)
	}
	return err
}

// Restore makes a workspace again with what it held on another machine: the files of tree. What an earlier try
// left in its place is removed; beside the project of a person other things may lie there, which stay.
func (r *workspaces) Restore(ctx context.Context, a orchestrator.Args) (dir string, err error) {
	dir = r.WorkspacePath(a)
	// Beside its place is only what an earlier try left: all of it was free when the session was made here.
	if _, err := workspace.Base(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && r.ofTeam(dir) {
		return "", engine.Never(fmt.Errorf("restore workspace %s: %s is there already; move it away", a.Workspace, dir))
	}
	if err = dropWorkspace(dir); err == nil {
		err = r.makeWorkspace(ctx, dir, a.Base)
	}
	if err == nil {
		err = r.branches(ctx, dir, a)
	}
	if err == nil {
		crash.Point("make workspace again", "")
		err = workspace.Overlay(ctx, r.repo, dir, a.Base, a.Tree)
	}
	if err != nil {
		return "", fmt.Errorf("restore workspace %s: %w", a.Workspace, err)
	}
	return dir, nil
}

// StartSpares has workspaces made ahead while a run lasts: until stop is called. Foresee says
// which are needed.
func (r *workspaces) StartSpares(ctx context.Context) (stop func()) {
	made, stopMaking := spares.Start(ctx, spares.Options{
		Session: r.sess.Name(), Dir: r.own(), Store: r.repo, Log: r.Log, Make: r.makeWorkspace, Drop: dropWorkspace,
	})
	r.spares = made
	return func() {
		stopMaking()
		_ = os.Remove(r.own()) // stays if anything else is in it
	}
}

// Foresee is called with each committed state between StartSpares and its end. It does not block.
func (r *workspaces) Foresee(def *workflows.Definition, s *orchestrator.State) {
	r.spares.Foresee(def, s)
}

// RemoveWorkspace removes a workspace of this session, and refuses any other directory.
func (r *workspaces) RemoveWorkspace(_ context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	dir := e.Args.Dir
	if dir == "" {
		return orchestrator.Result{}, nil
	}
	if !r.owns(dir) {
		return orchestrator.Result{}, engine.Never(fmt.Errorf("remove workspace: %s is no place of this session", dir))
	}
	crash.Point("remove workspace", e.Args.Workspace)
	if r.spares == nil {
		return orchestrator.Result{}, dropWorkspace(dir)
	}
	return orchestrator.Result{}, r.spares.Retire(dir)
}

// dropWorkspace removes a workspace with all that is kept beside it.
func dropWorkspace(dir string) error {
	if err := os.Remove(dir + ".setup"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(project.AsideDir(dir)); err != nil {
		return err
	}
	return workspace.Remove(dir)
}

// snapshotTries bounds how often a snapshot is taken again without what was refused.
const snapshotTries = 4

// snapshot takes what stands in a workspace, also while its agent writes there. Paths that may
// not be taken (nested repositories, sockets, names, hard links) stay as they are in the base and
// are returned: one stray file must not cost all the work.
func (r *workspaces) snapshot(ctx context.Context, a orchestrator.Args) (workspace.Snapshot, []string, error) {
	if a.Dir == "" {
		return workspace.Snapshot{}, nil, engine.Never(errors.New("snapshot: the workspace " + a.Workspace + " was never made"))
	}
	var left []string
	for range snapshotTries {
		snap, err := workspace.Take(ctx, r.repo, workspace.SnapshotSpec{
			Workspace: a.Dir, Index: workspace.Index(a.Dir), Base: a.Base, MaxGrowth: maxGrowth,
			Live: true, NameProblem: outgate.NameProblem, Masked: slices.Concat(left, project.ClearedSettings(a.Dir)),
		})
		var refused *workspace.RefusedError
		if !errors.As(err, &refused) {
			return snap, left, err
		}
		for _, refusal := range refused.Refusals {
			r.Log.Warn("a path is not taken over", "session", r.sess.Name(), "task", a.Task, "path", refusal.Path, "reason", refusal.Reason)
			left = append(left, refusal.Path)
		}
	}
	return workspace.Snapshot{}, nil, engine.Never(fmt.Errorf("snapshot: %d paths of %s are refused", len(left), a.Workspace))
}

// maxGrowth is the size by which no single file may grow, read or not.
const maxGrowth = 64 << 20

// Take takes what an agent hands in, while its processes may still run, and says what is wrong
// with it: paths that are not its own, and what the output gate finds in the difference to the
// commit that the workspace was made at.
func (r *Work) Take(ctx context.Context, t orchestrator.Taking) (*orchestrator.Snapshot, error) {
	snap, left, err := r.snapshot(ctx, orchestrator.Args{Workspace: t.Workspace, Task: t.Task, Dir: t.Dir, Base: t.Base})
	if err != nil {
		return nil, err
	}
	out := &orchestrator.Snapshot{Tree: snap.Tree, Files: len(snap.Changes), Left: left}
	if out.Files == 0 {
		return out, nil
	}
	mine := gitrepo.Covers(t.Owned)
	if len(t.Owned) > 0 && slices.ContainsFunc(snap.Changes, func(c gitrepo.Change) bool { return !mine(c.Path) }) {
		scope, err := r.repo.OutOfScope(ctx, t.Base, snap.Tree, t.Owned)
		if err != nil {
			return nil, err
		}
		out.Scope = scopePaths(scope, nil)
	}
	report, err := outgate.Check(ctx, r.repo, r.gate(t.Base, snap.Tree))
	if err != nil {
		return nil, err
	}
	if report.Blocked() {
		out.Findings = report.Texts()
	}
	out.Held = outgate.Paths(report.Held)
	return out, nil
}

// Integrate merges what an agent handed in into the integrated head: the tree that was taken
// then, or what it left in its workspace. A conflict, or a path outside of the files that are
// its own, is in the result.
func (r *workspaces) Integrate(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	tree, left, last := a.Tree, a.Left, ""
	if tree == "" {
		snap, problems, err := r.snapshot(ctx, a)
		if err != nil {
			return orchestrator.Result{}, err
		}
		tree, left, last = snap.Tree, problems, string(s.Workspaces[a.Workspace].Snapshot)
		crash.Point("snapshot", a.Task)
	}
	if a.Strict {
		scope, err := r.repo.OutOfScope(ctx, a.Base, tree, a.Owned)
		if err != nil {
			return orchestrator.Result{}, err
		}
		if found := scopePaths(scope, left); len(found) > 0 {
			return orchestrator.Result{Scope: found, Snapshot: tree}, nil
		}
	}
	head := s.Integrated.Commit
	if head == "" {
		head = s.BaseSHA
	}
	res, err := r.repo.Integrate(ctx, gitrepo.IntegrateSpec{
		Session: r.place.String(), Launch: string(a.Launch), Task: a.Task, Tree: tree, Base: a.Base,
		Last: last, Head: head, Owned: a.Owned, Author: robot, Date: a.Date.Time,
	})
	if err != nil {
		return orchestrator.Result{}, err
	}
	return orchestrator.Result{
		Commit: res.Commit, Tree: res.Tree, Snapshot: tree, Files: len(res.Files),
		Scope: scopePaths(res.Scope, left), Conflicts: res.Conflicts, Empty: res.Empty,
	}, nil
}

// scopePaths lists what is outside of a launch's files, and what was left out.
func scopePaths(list []gitrepo.ScopePath, left []string) []orchestrator.ScopePath {
	out := make([]orchestrator.ScopePath, 0, len(list)+len(left))
	for _, p := range list {
		out = append(out, orchestrator.ScopePath{Path: p.Path, Added: p.Added, Removed: p.Removed})
	}
	for _, path := range left {
		out = append(out, orchestrator.ScopePath{Path: path})
	}
	return out
}

// Preserve keeps the tree that was taken of a workspace, or what stands in it, below a ref of
// its own.
func (r *workspaces) Preserve(ctx context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	if a.Tree == "" {
		snap, _, err := r.snapshot(ctx, a)
		if err != nil {
			return orchestrator.Result{}, err
		}
		a.Tree = snap.Tree
	}
	commit, err := r.preserve(ctx, a.Task, a)
	return orchestrator.Result{Commit: commit, Snapshot: a.Tree}, err
}

// preserve keeps the tree of a under the name of a ref.
func (r *workspaces) preserve(ctx context.Context, name string, a orchestrator.Args) (string, error) {
	return r.repo.Preserve(ctx, gitrepo.PreserveSpec{
		Session: r.place.String(), Task: name, Tree: a.Tree, Base: a.Base, Author: robot, Date: a.Date.Time,
	})
}

// maxLateNamed is how many paths a record of late changes names.
const maxLateNamed = 20

// KeepLate compares a workspace, whose launch has ended, with the tree that was taken at its
// submission, and keeps what was written later below a ref of its own.
func (r *workspaces) KeepLate(ctx context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	a := e.Args
	if _, err := os.Lstat(a.Dir); errors.Is(err, fs.ErrNotExist) {
		return orchestrator.Result{}, nil // lost, and with it what was written
	}
	snap, _, err := r.snapshot(ctx, a)
	if err != nil || snap.Tree == a.Tree {
		return orchestrator.Result{}, err
	}
	changes, err := r.repo.Changes(ctx, a.Tree, snap.Tree)
	if err != nil {
		return orchestrator.Result{}, err
	}
	var paths []string
	for _, c := range changes[:min(len(changes), maxLateNamed)] {
		paths = append(paths, c.Path)
	}
	if more := len(changes) - maxLateNamed; more > 0 {
		paths = append(paths, fmt.Sprintf("%d more", more))
	}
	name := "late/" + string(a.Launch)
	a.Tree = snap.Tree
	commit, err := r.preserve(ctx, name, a)
	return orchestrator.Result{Commit: commit, Path: gitrepo.PreservedRef(r.place.String(), name), Late: paths}, err
}

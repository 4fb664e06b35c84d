package workspace

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// SnapshotSpec says what to take a snapshot of. Unless it is Live, nothing may write
// the workspace meanwhile: the processes of its agents have ended.
type SnapshotSpec struct {
	Workspace string
	Index     string // index file, outside the workspace and kept: that of the function Index
	Base      string // commit whose paths count even if they are ignored
	// Masked paths, and what is below them, come from the base, whatever the
	// workspace shows there.
	Masked []string
	// NameProblem judges the paths that are added; "" means good. Nil judges none.
	NameProblem func(path string) string
	// MaxGrowth refuses a file that is larger by more bytes than in the base, before
	// it is read. 0: without limit.
	MaxGrowth int64
	// Live takes the snapshot of a workspace whose agent still runs. Git reads none of its
	// files: those that differ from the kept index are read by descriptor. The index is not
	// changed; without one, which may be absent or damaged then, all files are read.
	Live bool

	hook func(point, path string) // tests only: called at the named points of a walk
}

// Snapshot is the content of a workspace as a tree of the store.
type Snapshot struct {
	Tree    string
	Changes []gitrepo.Change // against the base
}

// Refusal is one path for which no snapshot is taken.
type Refusal struct{ Path, Reason string }

// RefusedError lists every path for which no snapshot is taken.
type RefusedError struct{ Refusals []Refusal }

func (e *RefusedError) Error() string {
	list := make([]string, 0, len(e.Refusals))
	for _, r := range e.Refusals {
		list = append(list, fmt.Sprintf("%q %s", r.Path, r.Reason))
	}
	return "snapshot refused: " + strings.Join(list, "; ")
}

func refused(list []Refusal) error {
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b Refusal) int { return strings.Compare(a.Path, b.Path) })
	return &RefusedError{Refusals: slices.Compact(list)}
}

// Take writes the files of a workspace into the store: the paths of the
// base plus those that no .gitignore of the workspace excludes. No git runs under the
// workspace's own configuration. *RefusedError names all paths that prevent it.
func Take(ctx context.Context, store *gitrepo.Store, spec SnapshotSpec) (Snapshot, error) {
	shot := snapshot{Store: store, SnapshotSpec: spec, work: spec.Workspace}
	if spec.Live {
		return takeLive(ctx, shot)
	}
	// An interrupted snapshot may still be ending when the next one begins.
	over, err := store.Turn(ctx, spec.Index)
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	defer over()
	return shot.take(ctx)
}

type snapshot struct {
	*gitrepo.Store
	SnapshotSpec
	work  string // the work tree that git sees
	base  *paths
	files []file
}

func (s *snapshot) take(ctx context.Context) (Snapshot, error) {
	if err := s.readBase(ctx); err != nil {
		return Snapshot{}, err
	}
	if err := s.walk(ctx); err != nil {
		return Snapshot{}, err
	}
	if err := s.checkFiles(ctx); err != nil {
		return Snapshot{}, err
	}
	if s.hook != nil {
		s.hook("index", "")
	}
	removed, err := s.update(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	tree, err := s.git("write-tree").Text(ctx)
	if err != nil {
		return Snapshot{}, fmt.Errorf("write tree: %w", err)
	}
	changes, err := s.Changes(ctx, s.Base, tree)
	if err != nil {
		return Snapshot{}, err
	}
	if err := refused(append(s.notTaken(changes, removed), s.linked(changes)...)); err != nil {
		return Snapshot{}, err
	}
	return Snapshot{Tree: tree, Changes: changes}, nil
}

// git is a call with the git directory of the store over the work tree.
func (s *snapshot) git(args ...string) git.Call {
	return git.Call{GitDir: s.Dir(), Guard: s.Guard, WorkTree: s.work, Index: s.Index, Dir: s.work, Config: git.Durable, Args: args}
}

func (s *snapshot) walk(ctx context.Context) error {
	w, err := newWalker(s.Workspace, s.base, s.Masked)
	if err != nil {
		return err
	}
	defer w.close()
	w.hook = s.hook
	w.ignored = func(ctx context.Context, asked []question) (map[string]bool, error) { return s.ignored(ctx, asked) }
	return s.finish(ctx, w)
}

// finish walks, and takes over what was found.
func (s *snapshot) finish(ctx context.Context, w *walker) (err error) {
	if w.large, err = readLarge(s.Workspace); err != nil {
		return err
	}
	if err := w.walk(ctx); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	s.files = w.files
	s.Masked = append(slices.Clip(s.Masked), w.asBase...)
	return refused(w.refusals)
}

// A question is a path of which git says whether it is ignored.
type question struct {
	path string
	dir  bool
}

// ignored asks which paths the .gitignore files of the work tree exclude.
func (s *snapshot) ignored(ctx context.Context, asked []question) (map[string]bool, error) {
	set := map[string]bool{}
	if len(asked) == 0 {
		return set, nil
	}
	c := s.git("check-ignore", "-z", "--no-index", "--stdin")
	// check-ignore knows no literal paths; "./" keeps a leading ":" from being magic.
	c.Env = []string{"GIT_LITERAL_PATHSPECS=0"}
	names := make([]string, len(asked))
	for i, q := range asked {
		names[i] = "./" + q.path
	}
	c.Stdin = git.Joined(names)
	out, err := c.Run(ctx)
	if code := git.ExitCode(err); code != 0 && code != 1 {
		return nil, err
	}
	for _, p := range git.Records(out) {
		set[strings.TrimPrefix(p, "./")] = true
	}
	return set, nil
}

// checkFiles judges names and sizes before a file is read.
func (s *snapshot) checkFiles(ctx context.Context) error {
	var refusals []Refusal
	var large []file
	var ids []string
	for _, f := range s.files {
		if f.at < 0 && s.NameProblem != nil {
			if problem := s.NameProblem(f.path); problem != "" {
				refusals = append(refusals, Refusal{f.path, problem})
			}
		}
		if s.MaxGrowth > 0 && f.size > s.MaxGrowth {
			large = append(large, f)
			if f.at >= 0 {
				ids = append(ids, s.baseID(f))
			}
		}
	}
	sizes, err := s.Sizes(ctx, ids)
	if err != nil {
		return err
	}
	for _, f := range large {
		if f.size-sizes[s.baseID(f)] > s.MaxGrowth {
			refusals = append(refusals, Refusal{f.path, fmt.Sprintf("grows by more than %d bytes", s.MaxGrowth)})
		}
	}
	return refused(refusals)
}

// baseID is the id that a file has in the base, "" if it is not there.
func (s *snapshot) baseID(f file) string {
	if f.at < 0 {
		return ""
	}
	return hex.EncodeToString([]byte(s.base.entries[f.at].ID))
}

// readBase puts the base into the index unless it is there already, and reads it from there.
// Entries that equal the former index keep their file times. An index that cannot be used is
// made again.
func (s *snapshot) readBase(ctx context.Context) error {
	// The lock of a git that was killed: it is this snapshot's turn, and no other
	// process has the session.
	if err := os.Remove(s.Index + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.Index), 0o700); err != nil {
		return err
	}
	tree, err := s.baseTree(ctx)
	if err != nil {
		return err
	}
	if x, err := indexOf(s.Index, tree); err == nil {
		s.base = newPaths(x.Entries)
		return nil
	}
	if _, err = s.git("read-tree", "-i", "-m", s.Base).Run(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		if err := os.Remove(s.Index); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, err := s.git("read-tree", s.Base).Run(ctx); err != nil {
			return fmt.Errorf("read base: %w", err)
		}
	}
	x, err := indexOf(s.Index, tree)
	if err != nil {
		return fmt.Errorf("read base: %w", err)
	}
	s.base = newPaths(x.Entries)
	return nil
}

// update brings the walked files into the index. Paths of the base that are not
// files any more go first, by name alone: git refuses to look for one beyond a symlink. It
// returns those.
func (s *snapshot) update(ctx context.Context) (removed []string, err error) {
	present := map[string]bool{}
	paths := make([]string, 0, len(s.files))
	for _, f := range s.files {
		present[f.path] = true
		paths = append(paths, f.path)
	}
	masked := gitrepo.Covers(s.Masked)
	for _, e := range s.base.entries {
		if !present[e.Path] && e.Mode != modeGitlink && !masked(e.Path) {
			removed = append(removed, e.Path)
		}
	}
	if err := s.updateIndex(ctx, removed, "--force-remove"); err != nil {
		return nil, err
	}
	return removed, s.updateIndex(ctx, paths, "--add", "--remove", "--replace")
}

// notTaken compares the tree with what was walked: git leaves out some names with a
// warning, and a file that went away meanwhile with none.
func (s *snapshot) notTaken(changes []gitrepo.Change, removed []string) []Refusal {
	have := make(map[string]bool, len(s.base.entries))
	for _, e := range s.base.entries {
		have[e.Path] = true
	}
	for _, c := range changes {
		have[c.Path] = c.Status != 'D'
	}
	var refusals []Refusal
	for _, f := range s.files {
		if !have[f.path] {
			refusals = append(refusals, Refusal{f.path, reasonNotTaken})
		}
	}
	for _, p := range removed {
		if have[p] {
			refusals = append(refusals, Refusal{p, reasonChanging})
		}
	}
	return refusals
}

func (s *snapshot) updateIndex(ctx context.Context, paths []string, flags ...string) error {
	if len(paths) == 0 {
		return nil
	}
	args := append([]string{"update-index", "-z"}, flags...)
	c := s.git(append(args, "--stdin")...)
	c.Stdin = git.Joined(paths)
	if _, err := c.Run(ctx); err != nil {
		return fmt.Errorf("update index: %w", err)
	}
	return nil
}

// linked finds changed files that have further names: one may lie outside the
// workspace.
func (s *snapshot) linked(changes []gitrepo.Change) []Refusal {
	links := map[string]uint64{}
	for _, f := range s.files {
		links[f.path] = f.links
	}
	var refusals []Refusal
	for _, c := range changes {
		if c.NewMode == gitrepo.ModeGitlink {
			refusals = append(refusals, Refusal{c.Path, "is a nested repository"})
		}
		if links[c.Path] > 1 {
			refusals = append(refusals, Refusal{c.Path, reasonLinked})
		}
	}
	return refusals
}

package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SnapshotSpec says what to take a snapshot of. Unless it is Live, nothing may write
// the workspace meanwhile: the processes of its agents have ended.
type SnapshotSpec struct {
	Workspace string
	Index     string // index file, outside the workspace and kept: WorkspaceIndex
	Base      string // commit whose paths count even if they are ignored
	// Masked paths, and what is below them, come from the base, whatever the
	// workspace shows there.
	Masked []string
	// NameProblem judges the paths that are added; "" means good. Nil judges none.
	NameProblem func(path string) string
	// MaxGrowth refuses a file that is larger by more bytes than in the base, before
	// it is read. 0 is no limit.
	MaxGrowth int64
	// Live takes the snapshot from a copy, made by descriptor, of a workspace whose
	// agent still runs. Index is not used then.
	Live bool
}

// Snapshot is the content of a workspace as a tree of the host repository.
type Snapshot struct {
	Tree    string
	Changes []Change // against the base
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
	return &RefusedError{Refusals: list}
}

// Snapshot writes the files of a workspace into the host repository: the paths of the
// base plus those that no .gitignore of the workspace excludes. No git runs under the
// workspace's own configuration. *RefusedError names all paths that stand against it.
func (h *Host) Snapshot(ctx context.Context, spec SnapshotSpec) (Snapshot, error) {
	s := snapshot{Host: h, SnapshotSpec: spec, work: spec.Workspace}
	if spec.Live {
		tmp, remove, err := h.temporary("live")
		if err != nil {
			return Snapshot{}, fmt.Errorf("snapshot: %w", err)
		}
		defer remove()
		s.work, s.Index = filepath.Join(tmp, "work"), filepath.Join(tmp, "index")
		if err := os.Mkdir(s.work, 0o700); err != nil {
			return Snapshot{}, fmt.Errorf("snapshot: %w", err)
		}
		return s.take(ctx)
	}
	// One that was interrupted may still be on its way out when the next one begins.
	over, err := h.turns.take(ctx, spec.Index)
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	defer over()
	return s.take(ctx)
}

type snapshot struct {
	*Host
	SnapshotSpec
	work  string // what git sees: the workspace or a copy of it
	base  []Entry
	files []file
}

func (s *snapshot) take(ctx context.Context) (Snapshot, error) {
	var err error
	if s.base, err = s.Entries(ctx, s.Base); err != nil {
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
	if err := s.readBase(ctx); err != nil {
		return Snapshot{}, err
	}
	gone, err := s.update(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	tree, err := s.git("write-tree").text(ctx)
	if err != nil {
		return Snapshot{}, fmt.Errorf("write tree: %w", err)
	}
	changes, err := s.Changes(ctx, s.Base, tree)
	if err != nil {
		return Snapshot{}, err
	}
	if err := refused(append(s.notTaken(changes, gone), s.linked(changes)...)); err != nil {
		return Snapshot{}, err
	}
	return Snapshot{Tree: tree, Changes: changes}, nil
}

// git is a call with the host's git directory over the workspace.
func (s *snapshot) git(args ...string) call {
	return call{gitDir: s.dir, workTree: s.work, index: s.Index, dir: s.work, config: durable, args: args}
}

func (s *snapshot) walk(ctx context.Context) error {
	w, err := newWalker(s.Workspace, s.base, s.Masked)
	if err != nil {
		return err
	}
	defer w.close()
	w.ignored, w.hook = s.ignored, s.hook
	if w.large, err = readLarge(s.Workspace); err != nil {
		return err
	}
	if s.Live {
		w.scratch = &scratch{root: s.work, hook: s.hook}
	}
	if err := w.walk(ctx); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	s.files = w.files
	s.Masked = append(slices.Clip(s.Masked), w.asBase...)
	return refused(w.refusals)
}

// ignored asks which paths the .gitignore files of the workspace exclude.
func (s *snapshot) ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	set := map[string]bool{}
	if len(paths) == 0 {
		return set, nil
	}
	c := s.git("check-ignore", "-z", "--no-index", "--stdin")
	// check-ignore knows no literal paths; "./" keeps a leading ":" from being magic.
	c.env = []string{"GIT_LITERAL_PATHSPECS=0"}
	asked := make([]string, len(paths))
	for i, p := range paths {
		asked[i] = "./" + p
	}
	c.stdin = joined(asked)
	out, err := c.run(ctx)
	if code := exitCode(err); code != 0 && code != 1 {
		return nil, err
	}
	for _, p := range records(out) {
		set[strings.TrimPrefix(p, "./")] = true
	}
	return set, nil
}

// checkFiles judges names and sizes before a file is read.
func (s *snapshot) checkFiles(ctx context.Context) error {
	base := map[string]string{}
	for _, e := range s.base {
		base[e.Path] = e.ID
	}
	var refusals []Refusal
	var large []file
	var ids []string
	for _, f := range s.files {
		id, known := base[f.path]
		if !known && s.NameProblem != nil {
			if problem := s.NameProblem(f.path); problem != "" {
				refusals = append(refusals, Refusal{f.path, problem})
			}
		}
		if s.MaxGrowth > 0 && f.size > s.MaxGrowth {
			large = append(large, f)
			if known {
				ids = append(ids, id)
			}
		}
	}
	sizes, err := s.Sizes(ctx, ids)
	if err != nil {
		return err
	}
	for _, f := range large {
		if f.size-sizes[base[f.path]] > s.MaxGrowth {
			refusals = append(refusals, Refusal{f.path, fmt.Sprintf("grows by more than %d bytes", s.MaxGrowth)})
		}
	}
	return refused(refusals)
}

// readBase puts the base into the index. Entries that equal the former index keep
// their file times. An index that cannot be used is begun anew.
func (s *snapshot) readBase(ctx context.Context) error {
	// The lock of a git that was killed: it is this snapshot's turn, and no other
	// process has the session.
	if err := os.Remove(s.Index + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.Index), 0o700); err != nil {
		return err
	}
	_, err := s.git("read-tree", "-i", "-m", s.Base).run(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if err := os.Remove(s.Index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := s.git("read-tree", s.Base).run(ctx); err != nil {
		return fmt.Errorf("read base: %w", err)
	}
	return nil
}

// update brings the walked files into the index. Paths of the base that are no file
// any more go first, by name alone: git refuses to look for one beyond a symlink. It
// returns those.
func (s *snapshot) update(ctx context.Context) (gone []string, err error) {
	present := map[string]bool{}
	paths := make([]string, 0, len(s.files))
	for _, f := range s.files {
		present[f.path] = true
		paths = append(paths, f.path)
	}
	masked := covers(s.Masked)
	for _, e := range s.base {
		if !present[e.Path] && !e.Gitlink() && !masked(e.Path) {
			gone = append(gone, e.Path)
		}
	}
	if err := s.updateIndex(ctx, gone, "--force-remove"); err != nil {
		return nil, err
	}
	return gone, s.updateIndex(ctx, paths, "--add", "--remove", "--replace")
}

// notTaken compares the tree with what was walked: git leaves out some names with a
// warning, and a file that went away meanwhile with none.
func (s *snapshot) notTaken(changes []Change, gone []string) []Refusal {
	have := make(map[string]bool, len(s.base))
	for _, e := range s.base {
		have[e.Path] = true
	}
	for _, c := range changes {
		have[c.Path] = c.Status != 'D'
	}
	var refusals []Refusal
	for _, f := range s.files {
		if !have[f.path] {
			refusals = append(refusals, Refusal{f.path, "is not taken by git"})
		}
	}
	for _, p := range gone {
		if have[p] {
			refusals = append(refusals, Refusal{p, "changed while it was read"})
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
	c.stdin = joined(paths)
	if _, err := c.run(ctx); err != nil {
		return fmt.Errorf("update index: %w", err)
	}
	return nil
}

// linked finds changed files that have further names: one may lie outside the
// workspace.
func (s *snapshot) linked(changes []Change) []Refusal {
	links := map[string]uint64{}
	for _, f := range s.files {
		links[f.path] = f.links
	}
	var refusals []Refusal
	for _, c := range changes {
		if c.NewMode == modeGitlink {
			refusals = append(refusals, Refusal{c.Path, "is a nested repository"})
		}
		if links[c.Path] > 1 {
			refusals = append(refusals, Refusal{c.Path, "has a further hard link"})
		}
	}
	return refusals
}

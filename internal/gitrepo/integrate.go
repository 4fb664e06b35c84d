package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// launchTrailer marks the commit that integrated a launch.
const launchTrailer = "Agentmux-Launch: "

// IntegrateSpec says whose snapshot is to be integrated into what. Date, Author and
// Message must be the same when the call is repeated.
type IntegrateSpec struct {
	Session, Launch, Task string

	Tree string // of the snapshot
	Base string // commit the workspace was made at
	// Last is the tree of the snapshot that was integrated last from this workspace,
	// empty for none. If it is the tree of the head, the launch's changes count from
	// the head.
	Last string
	// Head is the last integrated commit the caller knows; before the first
	// integration, the session's base commit.
	Head string

	// Owned paths: a final "/" is a prefix, any other is a file or a directory. Empty
	// means all.
	Owned   []string
	Message string // empty: "integrate <task>"
	Author  Signature
	Date    time.Time
}

// ScopePath is a changed path outside the owned ones, with its lines.
type ScopePath struct {
	Path           string
	Added, Removed int
}

// IntegrateResult is what an integration came to. With Conflicts nothing has moved;
// with Empty neither, and Commit and Tree are those of the head.
type IntegrateResult struct {
	Commit, Tree string
	Files        []string // paths that differ from the former head
	Scope        []ScopePath
	Conflicts    []string
	Empty        bool
}

// Integrate merges a snapshot into the session's integration head by a commit of its
// own. A launch that is integrated above spec.Head already gives its result again. ErrMoved
// if the head is neither spec.Head nor holds the launch.
func (s *Store) Integrate(ctx context.Context, spec IntegrateSpec) (IntegrateResult, error) {
	res, err := (&integration{store: s, IntegrateSpec: spec}).run(ctx)
	if err != nil {
		return IntegrateResult{}, fmt.Errorf("integrate %s: %w", spec.Task, err)
	}
	return res, nil
}

// integration is one call of Integrate. Its Head becomes the commit that the ref is at.
type integration struct {
	store *Store
	IntegrateSpec
}

func (in *integration) run(ctx context.Context) (IntegrateResult, error) {
	if strings.ContainsAny(in.Launch, "\r\n") || in.Launch == "" {
		return IntegrateResult{}, fmt.Errorf("bad launch %q", in.Launch)
	}
	ref := IntegrationRef(in.Session)
	now, err := in.store.Ref(ctx, ref)
	if err != nil {
		return IntegrateResult{}, err
	}
	// At the head that the caller knows nothing has been added to it.
	if now != "" && now != in.Head {
		done, err := in.find(ctx, now)
		if err != nil {
			return IntegrateResult{}, err
		}
		if done.id != "" {
			return in.result(ctx, done.parent, done.id)
		}
		if known, err := in.onlyLaunches(ctx, in.Head, now); err != nil || !known {
			return IntegrateResult{}, fmt.Errorf("%s is at %s: %w", ref, now, errors.Join(ErrMoved, err))
		}
		in.Head = now
	}
	base, err := in.effectiveBase(ctx, in.Head)
	if err != nil {
		return IntegrateResult{}, err
	}
	tree, conflicts, err := in.merge(ctx, base)
	if err != nil || len(conflicts) > 0 {
		return IntegrateResult{Conflicts: conflicts}, err
	}
	head, err := in.store.Tree(ctx, in.Head)
	if err != nil {
		return IntegrateResult{}, err
	}
	if head == tree {
		return in.nothingNew(ctx, head)
	}
	commit, err := in.store.Commit(ctx, CommitSpec{
		Tree: tree, Parents: []string{in.Head}, Message: in.message(), Author: in.Author, Date: in.Date,
	})
	if err != nil {
		return IntegrateResult{}, err
	}
	if err := in.store.UpdateRef(ctx, ref, commit, now); err != nil {
		return IntegrateResult{}, err
	}
	return in.result(ctx, in.Head, commit)
}

// onlyLaunches reports whether nothing but integrated launches lies between two heads. Then
// the caller lost a result: its run ended between the merge and the commit of the state, and
// the next run asks in another order. What it lost stays where it is.
func (in *integration) onlyLaunches(ctx context.Context, from, to string) (bool, error) {
	commits, err := in.between(ctx, from, to)
	if err != nil {
		return false, err
	}
	parent := to
	for _, c := range commits {
		if c.launch == "" || c.id != parent {
			return false, nil
		}
		parent = c.parent
	}
	return parent == from, nil
}

// nothingNew is the result for a launch that changes nothing at the head: it did nothing, or
// what it did was integrated before, below launches that came after it.
func (in *integration) nothingNew(ctx context.Context, tree string) (IntegrateResult, error) {
	res := IntegrateResult{Commit: in.Head, Tree: tree, Empty: true}
	if in.Head == in.Base {
		return res, nil
	}
	done, err := in.find(ctx, in.Head)
	if err != nil || done.id == "" {
		return res, err
	}
	was, err := in.result(ctx, done.parent, done.id)
	res.Files, res.Scope, res.Empty = was.Files, was.Scope, false
	return res, err
}

func (s IntegrateSpec) message() string {
	text := strings.TrimSpace(s.Message)
	if text == "" {
		text = "integrate " + s.Task
	}
	return text + "\n\n" + launchTrailer + s.Launch + "\n"
}

// effectiveBase is the commit the launch's changes count from.
func (in *integration) effectiveBase(ctx context.Context, head string) (string, error) {
	if in.Last == "" {
		return in.Base, nil
	}
	tree, err := in.store.Tree(ctx, head)
	if err != nil {
		return "", err
	}
	if tree == in.Last {
		return head, nil
	}
	return in.Base, nil
}

// integratedCommit is a commit of the integration head; launch is "" if it is of no launch.
type integratedCommit struct{ id, parent, launch string }

// parseIntegrated reads a record of "%H %P%n%B". Only the last line of a message counts: the
// text above it is not from this program.
func parseIntegrated(rec string) integratedCommit {
	ids, message, _ := strings.Cut(rec, "\n")
	message = strings.TrimRight(message, "\n")
	trailer := message[strings.LastIndexByte(message, '\n')+1:]
	launch, integrated := strings.CutPrefix(trailer, launchTrailer)
	f := strings.Fields(ids)
	if !integrated || len(f) < 2 {
		return integratedCommit{}
	}
	return integratedCommit{id: f[0], parent: f[1], launch: launch}
}

// find looks for the launch among the commits between the workspace's base and
// the head.
func (in *integration) find(ctx context.Context, head string) (integratedCommit, error) {
	commits, err := in.between(ctx, in.Base, head)
	if err != nil {
		return integratedCommit{}, err
	}
	for _, c := range commits {
		if c.launch == in.Launch {
			return c, nil
		}
	}
	return integratedCommit{}, nil
}

// between lists the commits on the first-parent line of head that base does not reach, the
// newest first.
func (in *integration) between(ctx context.Context, base, head string) ([]integratedCommit, error) {
	out, err := in.store.git("log", "-z", "--first-parent", "--no-show-signature", "--format=%H %P%n%B",
		"--end-of-options", head, "^"+base).Run(ctx)
	if err != nil {
		return nil, err
	}
	var list []integratedCommit
	for _, rec := range git.Records(out) {
		list = append(list, parseIntegrated(rec))
	}
	return list, nil
}

// merge returns the merged tree, or the conflicting paths.
func (in *integration) merge(ctx context.Context, base string) (string, []string, error) {
	if base == in.Head {
		return in.Tree, nil, nil
	}
	if in.store.known.follows(base, in.Head) {
		tree, err := (composing{in.store}).mergedApart(ctx, base, in.Head, in.Tree)
		if !unread(err) {
			return tree, nil, err
		}
	}
	theirs, err := in.store.Commit(ctx, CommitSpec{
		Tree: in.Tree, Parents: []string{base}, Message: "snapshot of " + in.Task + "\n", Author: in.Author, Date: in.Date,
	})
	if err != nil {
		return "", nil, err
	}
	m, err := in.store.Merge(ctx, in.Head, theirs)
	return m.Tree, m.Conflicts, err
}

// result describes an integration that is done: the paths it changed, and those of
// the launch's own changes that are outside its scope.
func (in *integration) result(ctx context.Context, parent, commit string) (IntegrateResult, error) {
	tree, err := in.store.Tree(ctx, commit)
	if err != nil {
		return IntegrateResult{}, err
	}
	changes, err := in.store.Changes(ctx, parent, commit)
	if err != nil {
		return IntegrateResult{}, err
	}
	res := IntegrateResult{Commit: commit, Tree: tree}
	for _, c := range changes {
		res.Files = append(res.Files, c.Path)
	}
	base, err := in.effectiveBase(ctx, parent)
	if err != nil {
		return IntegrateResult{}, err
	}
	mine := Covers(in.Owned)
	if base == parent && tree == in.Tree && !slices.ContainsFunc(res.Files, func(p string) bool { return !mine(p) }) {
		return res, nil // nothing to count lines of
	}
	res.Scope, err = in.store.OutOfScope(ctx, base, in.Tree, in.Owned)
	return res, err
}

// OutOfScope lists the paths that differ between two trees and are not owned.
func (s *Store) OutOfScope(ctx context.Context, from, to string, owned []string) ([]ScopePath, error) {
	if len(owned) == 0 {
		return nil, nil
	}
	mine := Covers(owned)
	changes, err := s.Changes(ctx, from, to)
	if err != nil || !slices.ContainsFunc(changes, func(c Change) bool { return !mine(c.Path) }) {
		return nil, err // nothing to count lines of
	}
	stats, err := s.DiffStat(ctx, from, to)
	if err != nil {
		return nil, err
	}
	var out []ScopePath
	for _, s := range stats {
		if !mine(s.Path) {
			out = append(out, ScopePath{Path: s.Path, Added: s.Added, Removed: s.Removed})
		}
	}
	return out, nil
}

// MergeResult is a merged tree, or the paths in conflict.
type MergeResult struct {
	Tree      string
	Conflicts []string
}

// Merge merges two commits without touching any ref, index or file. Conflicts of
// content, of binary files, of a change against a deletion and of renames are listed
// by path.
func (s *Store) Merge(ctx context.Context, head, other string) (MergeResult, error) {
	out, err := s.git("merge-tree", "--write-tree", "-z", "--messages", "--name-only", head, other).Run(ctx)
	code := git.ExitCode(err)
	if code != 0 && code != 1 {
		return MergeResult{}, fmt.Errorf("merge: %w", err)
	}
	tree, rest, _ := strings.Cut(string(out), "\x00")
	if code == 0 {
		return MergeResult{Tree: tree}, nil
	}
	conflicts := conflictPaths(rest)
	if len(conflicts) == 0 {
		return MergeResult{}, errors.New("merge: conflict without a path")
	}
	return MergeResult{Conflicts: conflicts}, nil
}

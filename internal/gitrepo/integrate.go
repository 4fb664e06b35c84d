package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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
func (h *Host) Integrate(ctx context.Context, spec IntegrateSpec) (IntegrateResult, error) {
	res, err := h.integrate(ctx, spec)
	if err != nil {
		return IntegrateResult{}, fmt.Errorf("integrate %s: %w", spec.Task, err)
	}
	return res, nil
}

func (h *Host) integrate(ctx context.Context, spec IntegrateSpec) (IntegrateResult, error) {
	if strings.ContainsAny(spec.Launch, "\r\n") || spec.Launch == "" {
		return IntegrateResult{}, fmt.Errorf("bad launch %q", spec.Launch)
	}
	ref := IntegrationRef(spec.Session)
	now, err := h.Ref(ctx, ref)
	if err != nil {
		return IntegrateResult{}, err
	}
	// At the head that the caller knows nothing has been added to it.
	if now != "" && now != spec.Head {
		done, err := h.integrated(ctx, spec, now)
		if err != nil {
			return IntegrateResult{}, err
		}
		if done.id != "" {
			return h.result(ctx, spec, done.parent, done.id)
		}
		if ours, err := h.onlyLaunches(ctx, spec.Head, now); err != nil || !ours {
			return IntegrateResult{}, fmt.Errorf("%s is at %s: %w", ref, now, errors.Join(ErrMoved, err))
		}
		spec.Head = now
	}
	base, err := h.effectiveBase(ctx, spec, spec.Head)
	if err != nil {
		return IntegrateResult{}, err
	}
	tree, conflicts, err := h.mergeSnapshot(ctx, spec, base)
	if err != nil || len(conflicts) > 0 {
		return IntegrateResult{Conflicts: conflicts}, err
	}
	head, err := h.Tree(ctx, spec.Head)
	if err != nil {
		return IntegrateResult{}, err
	}
	if head == tree {
		return h.nothingNew(ctx, spec, head)
	}
	commit, err := h.Commit(ctx, CommitSpec{
		Tree: tree, Parents: []string{spec.Head}, Message: spec.message(), Author: spec.Author, Date: spec.Date,
	})
	if err != nil {
		return IntegrateResult{}, err
	}
	if err := h.UpdateRef(ctx, ref, commit, now); err != nil {
		return IntegrateResult{}, err
	}
	return h.result(ctx, spec, spec.Head, commit)
}

// onlyLaunches reports whether nothing but integrated launches lies between two heads. Then
// the caller lost a result: its run ended between the merge and the commit of the state, and
// who goes on asks in another order. What it lost stays where it is.
func (h *Host) onlyLaunches(ctx context.Context, from, to string) (bool, error) {
	commits, err := h.between(ctx, from, to)
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
func (h *Host) nothingNew(ctx context.Context, spec IntegrateSpec, tree string) (IntegrateResult, error) {
	res := IntegrateResult{Commit: spec.Head, Tree: tree, Empty: true}
	if spec.Head == spec.Base {
		return res, nil
	}
	done, err := h.integrated(ctx, spec, spec.Head)
	if err != nil || done.id == "" {
		return res, err
	}
	was, err := h.result(ctx, spec, done.parent, done.id)
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
func (h *Host) effectiveBase(ctx context.Context, spec IntegrateSpec, head string) (string, error) {
	if spec.Last == "" {
		return spec.Base, nil
	}
	tree, err := h.Tree(ctx, head)
	if err != nil {
		return "", err
	}
	if tree == spec.Last {
		return head, nil
	}
	return spec.Base, nil
}

// integratedCommit is a commit of the integration head; launch is "" if it is of no launch.
type integratedCommit struct{ id, parent, launch string }

// parseIntegrated reads a record of "%H %P%n%B". Only the last line of a message counts: the
// text above it is not ours.
func parseIntegrated(rec string) integratedCommit {
	ids, message, _ := strings.Cut(rec, "\n")
	message = strings.TrimRight(message, "\n")
	last := message[strings.LastIndexByte(message, '\n')+1:]
	launch, ours := strings.CutPrefix(last, launchTrailer)
	f := strings.Fields(ids)
	if !ours || len(f) < 2 {
		return integratedCommit{}
	}
	return integratedCommit{id: f[0], parent: f[1], launch: launch}
}

// integrated looks for the launch among the commits between the workspace's base and
// the head.
func (h *Host) integrated(ctx context.Context, spec IntegrateSpec, head string) (integratedCommit, error) {
	commits, err := h.between(ctx, spec.Base, head)
	if err != nil {
		return integratedCommit{}, err
	}
	for _, c := range commits {
		if c.launch == spec.Launch {
			return c, nil
		}
	}
	return integratedCommit{}, nil
}

// between lists the commits on the first-parent line of head that base does not reach, the
// newest first.
func (h *Host) between(ctx context.Context, base, head string) ([]integratedCommit, error) {
	out, err := h.git("log", "-z", "--first-parent", "--no-show-signature", "--format=%H %P%n%B",
		"--end-of-options", head, "^"+base).run(ctx)
	if err != nil {
		return nil, err
	}
	var list []integratedCommit
	for _, rec := range records(out) {
		list = append(list, parseIntegrated(rec))
	}
	return list, nil
}

// mergeSnapshot returns the merged tree, or the conflicting paths.
func (h *Host) mergeSnapshot(ctx context.Context, spec IntegrateSpec, base string) (string, []string, error) {
	if base == spec.Head {
		return spec.Tree, nil, nil
	}
	theirs, err := h.Commit(ctx, CommitSpec{
		Tree: spec.Tree, Parents: []string{base}, Message: "snapshot of " + spec.Task + "\n", Author: spec.Author, Date: spec.Date,
	})
	if err != nil {
		return "", nil, err
	}
	m, err := h.Merge(ctx, spec.Head, theirs)
	return m.Tree, m.Conflicts, err
}

// result describes an integration that is done: the paths it changed, and those of
// the launch's own changes that are outside its scope.
func (h *Host) result(ctx context.Context, spec IntegrateSpec, parent, commit string) (IntegrateResult, error) {
	tree, err := h.Tree(ctx, commit)
	if err != nil {
		return IntegrateResult{}, err
	}
	changes, err := h.Changes(ctx, parent, commit)
	if err != nil {
		return IntegrateResult{}, err
	}
	res := IntegrateResult{Commit: commit, Tree: tree}
	for _, c := range changes {
		res.Files = append(res.Files, c.Path)
	}
	base, err := h.effectiveBase(ctx, spec, parent)
	if err != nil {
		return IntegrateResult{}, err
	}
	mine := covers(spec.Owned)
	if base == parent && tree == spec.Tree && !slices.ContainsFunc(res.Files, func(p string) bool { return !mine(p) }) {
		return res, nil // nothing to count lines of
	}
	res.Scope, err = h.OutOfScope(ctx, base, spec.Tree, spec.Owned)
	return res, err
}

// OutOfScope lists the paths that differ between two trees and are not owned.
func (h *Host) OutOfScope(ctx context.Context, from, to string, owned []string) ([]ScopePath, error) {
	if len(owned) == 0 {
		return nil, nil
	}
	stats, err := h.DiffStat(ctx, from, to)
	if err != nil {
		return nil, err
	}
	mine := covers(owned)
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
func (h *Host) Merge(ctx context.Context, ours, theirs string) (MergeResult, error) {
	out, err := h.git("merge-tree", "--write-tree", "-z", "--messages", "--name-only", ours, theirs).run(ctx)
	code := exitCode(err)
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

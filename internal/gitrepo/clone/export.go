package clone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// ExportKind says why a branch was not made in a person's clone.
type ExportKind string

const (
	ExportTaken      ExportKind = "taken"       // it is there, with other commits
	ExportCheckedOut ExportKind = "checked_out" // it is checked out
	ExportBlocked    ExportKind = "blocked"     // another branch's name leaves no room for it
	ExportLocked     ExportKind = "locked"      // a git holds its lock, or was killed with it
)

// ExportError is a branch that a clone does not take. Waiting mends only a lock, and that only
// while a git runs.
type ExportError struct {
	Kind   ExportKind
	Branch string
	What   string // the branch, the directory or the file in the way
}

// Error names the branch, what is in its way, and what to do.
func (e *ExportError) Error() string {
	switch e.Kind {
	case ExportCheckedOut:
		if _, err := os.Lstat(e.What); errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("branch %s is checked out in %s, which is not there any more; git worktree prune forgets it", e.Branch, e.What)
		}
		return fmt.Sprintf("branch %s is checked out in %s; git switch another branch there", e.Branch, e.What)
	case ExportBlocked:
		return fmt.Sprintf("branch %s cannot be made beside the branch %s; rename that one (git branch -m), or set github.branch_prefix", e.Branch, e.What)
	case ExportLocked:
		return fmt.Sprintf("branch %s is locked by %s; remove that file if no git runs in the clone", e.Branch, e.What)
	}
	return fmt.Sprintf("branch %s is in the clone with other commits; rename it (git branch -m)", e.Branch)
}

// Export makes branch in a person's clone point to sha, for a result that is
// pushed nowhere. The branch is created or fast-forwarded, never rewritten, and
// neither the checked-out branch nor the work tree is touched. The error is an *ExportError
// where the clone shows why it does not take the branch.
func Export(ctx context.Context, store *gitrepo.Store, clone, branch, sha string) error {
	root, err := filepath.Abs(clone)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + branch
	if err := git.CheckRef(ref); err != nil {
		return err
	}
	c := git.Call{Dir: root, Transport: "file", Args: []string{"fetch", "-q", "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", store.Dir(), sha + ":" + ref},
		Config: []string{"core.alternateRefsCommand=false"}}
	if _, err := c.Run(ctx); err != nil {
		return exportError(ctx, store, root, branch, sha, fmt.Errorf("export %s: %w", branch, err))
	}
	return nil
}

// InTheWay returns an *ExportError if a branch cannot be made in a person's clone, whatever its
// commit: another branch or a lock file has its place.
func InTheWay(ctx context.Context, clone, branch string) error {
	in := inspection{}
	if _, err := in.find(ctx, clone); err != nil {
		return err
	}
	return in.inTheWay(ctx, branch)
}

// lockAge is how old the lock of a ref is before it counts as left behind by a git that was
// killed: one that lives holds it for the writing of a line.
const lockAge = time.Minute

// Obstacles finds what keeps branches whose names begin with prefix from being made in a
// person's clone: a branch that leaves no room for them, and locks of a git that was killed.
func Obstacles(ctx context.Context, clone, prefix string) ([]*ExportError, error) {
	in := inspection{}
	if _, err := in.find(ctx, clone); err != nil {
		return nil, err
	}
	var found []*ExportError
	parts := strings.Split(prefix, "/")
	above := strings.Join(parts[:len(parts)-1], "/") // what all of them are below, "" for none
	for i := 1; i < len(parts); i++ {
		name := strings.Join(parts[:i], "/")
		if _, err := in.git("rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+name).Text(ctx); err == nil {
			found = append(found, &ExportError{Kind: ExportBlocked, Branch: prefix + "...", What: name})
		}
	}
	heads, err := in.git("rev-parse", "--path-format=absolute", "--git-path", "refs/heads").Text(ctx)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(filepath.Join(heads, filepath.FromSlash(above)), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // never made, or removed meanwhile
		}
		if err != nil {
			return err
		}
		branch, locked := strings.CutSuffix(filepath.ToSlash(strings.TrimPrefix(path, heads+string(filepath.Separator))), ".lock")
		if !locked || d.IsDir() || !strings.HasPrefix(branch, prefix) {
			return nil
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > lockAge {
			found = append(found, &ExportError{Kind: ExportLocked, Branch: branch, What: path})
		}
		return nil
	})
	return found, err
}

func (in *inspection) inTheWay(ctx context.Context, branch string) error {
	parts := strings.Split(branch, "/")
	for i := 1; i < len(parts); i++ {
		above := strings.Join(parts[:i], "/")
		if _, err := in.git("rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+above).Text(ctx); err == nil {
			return &ExportError{Kind: ExportBlocked, Branch: branch, What: above}
		}
	}
	below, err := in.git("for-each-ref", "--count=1", "--format=%(refname:lstrip=2)", "refs/heads/"+branch+"/").Text(ctx)
	if err != nil {
		return err
	}
	if below != "" {
		return &ExportError{Kind: ExportBlocked, Branch: branch, What: below}
	}
	lock, err := in.git("rev-parse", "--path-format=absolute", "--git-path", "refs/heads/"+branch+".lock").Text(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(lock); !errors.Is(err, fs.ErrNotExist) {
		return &ExportError{Kind: ExportLocked, Branch: branch, What: lock}
	}
	return nil
}

// CheckedOut returns an *ExportError if a branch is checked out in a person's clone, or in another work tree of it.
func CheckedOut(ctx context.Context, clone, branch string) error {
	in := inspection{}
	if _, err := in.find(ctx, clone); err != nil {
		return err
	}
	return in.checkedOut(ctx, branch)
}

func (in *inspection) checkedOut(ctx context.Context, branch string) error {
	list, err := in.git("worktree", "list", "--porcelain").Text(ctx)
	if err != nil {
		return err
	}
	var tree string
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			tree = filepath.Clean(path)
		}
		if line == "branch refs/heads/"+branch {
			return &ExportError{Kind: ExportCheckedOut, Branch: branch, What: tree}
		}
	}
	return nil
}

// exportError gives a failed export its reason, as far as it shows in the clone.
func exportError(ctx context.Context, store *gitrepo.Store, root, branch, sha string, failed error) error {
	in := inspection{dir: root}
	var why *ExportError
	if err := in.inTheWay(ctx, branch); errors.As(err, &why) {
		return why
	}
	if err := in.checkedOut(ctx, branch); err != nil {
		if errors.As(err, &why) {
			return why
		}
		return failed
	}
	now, err := in.git("rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+branch).Text(ctx)
	if err != nil {
		return failed
	}
	if forward, err := store.IsAncestor(ctx, now, sha); err != nil || !forward {
		return &ExportError{Kind: ExportTaken, Branch: branch}
	}
	return failed
}

package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// ErrNoFile says that a path is not in a tree.
var ErrNoFile = errors.New("no such file")

// Change is one path that differs between two trees. A rename is a deletion and an
// addition. Modes and ids are all zeros where a side has no such path.
type Change struct {
	Path             string
	Status           byte // A, D, M (content or mode), T (type)
	OldMode, NewMode string
	OldID, NewID     string
}

// Changes compares two trees or commits, in git's path order.
func (s *Store) Changes(ctx context.Context, from, to string) ([]Change, error) {
	if list, err := s.direct.changes(from, to); !unread(err) {
		return list, err
	}
	out, err := s.git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev",
		"--ignore-submodules=none", from, to).Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	recs := git.Records(out)
	var list []Change
	for i := 0; i+1 < len(recs); i += 2 {
		f := strings.Fields(strings.TrimPrefix(recs[i], ":"))
		if len(f) != 5 || len(f[4]) != 1 {
			return nil, fmt.Errorf("compare trees: unexpected record %q", recs[i])
		}
		list = append(list, Change{
			Path: recs[i+1], Status: f[4][0],
			OldMode: f[0], NewMode: f[1], OldID: f[2], NewID: f[3],
		})
	}
	return list, nil
}

// Stat is the number of lines one path gained and lost.
type Stat struct {
	Path           string
	Added, Removed int
	Binary         bool
}

// DiffStat counts lines per changed path, in git's path order.
func (s *Store) DiffStat(ctx context.Context, from, to string) ([]Stat, error) {
	out, err := s.git("diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff",
		"--no-textconv", "--ignore-submodules=none", from, to).Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("count lines: %w", err)
	}
	var list []Stat
	for _, rec := range git.Records(out) {
		f := strings.SplitN(rec, "\t", 3)
		if len(f) != 3 {
			return nil, fmt.Errorf("count lines: unexpected record %q", rec)
		}
		s := Stat{Path: f[2], Binary: f[0] == "-"}
		if !s.Binary {
			s.Added, _ = strconv.Atoi(f[0])
			s.Removed, _ = strconv.Atoi(f[1])
		}
		list = append(list, s)
	}
	return list, nil
}

// DiffWithout is Diff of all paths but some: a directory excludes all that is below it.
func (s *Store) DiffWithout(ctx context.Context, from, to string, max int64, without ...string) ([]byte, error) {
	args := []string{"diff-tree", "-r", "-p", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=none", from, to, "--", ":(top)"}
	for _, path := range without {
		args = append(args, ":(top,exclude,literal)"+path)
	}
	c := s.git(args...)
	c.Env, c.MaxOutput = []string{"GIT_LITERAL_PATHSPECS=0"}, max
	out, err := c.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	return out, nil
}

// Diff is the unified text diff between two trees or commits, binary files named
// only, limited to paths if any are given. ErrTooLarge beyond max bytes.
func (s *Store) Diff(ctx context.Context, from, to string, max int64, paths ...string) ([]byte, error) {
	args := []string{"diff-tree", "-r", "-p", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=none", from, to, "--"}
	c := s.git(append(args, paths...)...)
	c.MaxOutput = max
	out, err := c.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	return out, nil
}

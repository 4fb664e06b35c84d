package gitrepo

import (
	"context"
	"path"

	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// mergedApart merges two sides of base that have nothing to do with each other, without a
// process: then a merge is both of their changes. The error is object.ErrUnread where git has to
// merge. That is so where
//
//   - both sides change one path, or one has a file where the other has a directory;
//   - a side has both an added and a deleted path: git may take them for a renamed file, and
//     carry the other side's changes there;
//   - a path changes its type, or is a submodule.
//
// The caller knows that base is what both sides have in common.
func (s composing) mergedApart(ctx context.Context, base, ours, theirs string) (string, error) {
	mine, err := s.direct.changes(base, ours)
	if err != nil {
		return "", err
	}
	others, err := s.direct.changes(base, theirs)
	if err != nil {
		return "", err
	}
	if !plainSide(mine) || !plainSide(others) || meet(mine, others) {
		return "", object.ErrUnread
	}
	return s.composed(ctx, ours, func(c *object.Composer) error {
		return composed(c, others)
	})
}

// plainSide reports whether the changes of a side stay at their paths in a merge.
func plainSide(changes []Change) bool {
	added, deleted := false, false
	for _, c := range changes {
		added, deleted = added || c.Status == 'A', deleted || c.Status == 'D'
		if c.Status == 'T' || c.OldMode == ModeGitlink || c.NewMode == ModeGitlink || added && deleted {
			return false
		}
	}
	return true
}

// meet reports whether a path of one side is a path of the other, or leads to one.
func meet(mine, others []Change) bool {
	changed, leads := map[string]bool{}, map[string]bool{}
	for _, c := range mine {
		changed[c.Path] = true
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			leads[dir] = true
		}
	}
	for _, c := range others {
		if leads[c.Path] {
			return true
		}
		for p := c.Path; p != "."; p = path.Dir(p) {
			if changed[p] {
				return true
			}
		}
	}
	return false
}

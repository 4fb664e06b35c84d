package gitrepo

import (
	"context"
	"fmt"
	"time"
)

// PreserveSpec names work that is kept though it is not integrated.
type PreserveSpec struct {
	Session, Task string
	Tree          string // of the snapshot
	Base          string // commit the workspace was made at
	Author        Signature
	Date          time.Time
}

// Preserve keeps a snapshot under PreservedRef and returns its commit. Work that was
// preserved before under the same name stays reachable as the second parent.
func (s *Store) Preserve(ctx context.Context, spec PreserveSpec) (string, error) {
	ref := PreservedRef(spec.Session, spec.Task)
	old, err := s.Ref(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("preserve %s: %w", spec.Task, err)
	}
	parents := []string{spec.Base}
	if old != "" {
		tree, err := s.Tree(ctx, old)
		if err != nil {
			return "", fmt.Errorf("preserve %s: %w", spec.Task, err)
		}
		base, _ := s.Resolve(ctx, old+"^1")
		if tree == spec.Tree && base == spec.Base {
			return old, nil
		}
		parents = append(parents, old)
	}
	commit, err := s.Commit(ctx, CommitSpec{
		Tree: spec.Tree, Parents: parents, Message: "preserve " + spec.Task + "\n", Author: spec.Author, Date: spec.Date,
	})
	if err == nil {
		err = s.UpdateRef(ctx, ref, commit, old)
	}
	if err != nil {
		return "", fmt.Errorf("preserve %s: %w", spec.Task, err)
	}
	return commit, nil
}

package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// Lacking counts the submodules and the LFS files of a commit whose content a workspace of MakeLocal would
// not have.
func Lacking(ctx context.Context, store *gitrepo.Store, commit, clone string) (submodules, files int, err error) {
	m := &maker{Store: store}
	if m.clone, err = store.CloneDir(ctx, clone); err == nil {
		m.sha, err = m.Resolve(ctx, commit)
	}
	if err == nil {
		submodules, err = m.lackingSubmodules(ctx)
	}
	if err == nil {
		files, err = m.lackingLarge(ctx)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("look for content of submodules and LFS: %w", err)
	}
	return submodules, files, nil
}

func (m *maker) lackingSubmodules(ctx context.Context) (int, error) {
	stored, lacking, err := m.submodules(ctx)
	for _, s := range stored {
		held, err := m.holds(ctx, s)
		if err != nil {
			return 0, err
		}
		if held {
			lacking--
		}
	}
	return lacking, err
}

func (m *maker) lackingLarge(ctx context.Context) (lacking int, err error) {
	entries, err := m.filtered(ctx)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	sizes, err := m.Sizes(ctx, ids)
	if err != nil {
		return 0, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return sizes[id] > maxPointer }) // too large for a pointer
	texts, err := m.Blobs(ctx, ids)
	for _, e := range entries {
		if l, ok := pointed(texts[e.ID]); ok {
			if _, err := os.Stat(l.in(filepath.Join(m.clone, "lfs", "objects"))); err != nil {
				lacking++
			}
		}
	}
	return lacking, err
}

package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Restore returns tree with the paths as they are in from: with its content and mode,
// or absent. Nothing but objects is written. Paths that are in neither tree change
// nothing.
func (h *Host) Restore(ctx context.Context, tree, from string, paths []string) (string, error) {
	if len(paths) == 0 {
		return h.Tree(ctx, tree)
	}
	dir, err := os.MkdirTemp("", "agentmux-index-*")
	if err != nil {
		return "", fmt.Errorf("restore paths: %w", err)
	}
	defer os.RemoveAll(dir)
	id, err := h.restore(ctx, filepath.Join(dir, "index"), tree, from, paths)
	if err != nil {
		return "", fmt.Errorf("restore paths: %w", err)
	}
	return id, nil
}

func (h *Host) restore(ctx context.Context, index, tree, from string, paths []string) (string, error) {
	entries, err := h.Entries(ctx, from)
	if err != nil {
		return "", err
	}
	have := map[string]Entry{}
	for _, e := range entries {
		have[e.Path] = e
	}
	// Removals first: a path may be a directory on one side and a file on the other.
	var removals, additions bytes.Buffer
	zero := strings.Repeat("0", len(tree))
	for _, p := range paths {
		if e, ok := have[p]; ok {
			fmt.Fprintf(&additions, "%s %s\t%s\x00", e.Mode, e.ID, p)
			continue
		}
		fmt.Fprintf(&removals, "0 %s\t%s\x00", zero, p)
	}
	read := h.git("read-tree", tree)
	read.index = index
	if _, err := read.run(ctx); err != nil {
		return "", err
	}
	update := h.git("update-index", "--replace", "-z", "--index-info")
	update.index, update.stdin = index, append(removals.Bytes(), additions.Bytes()...)
	if _, err := update.run(ctx); err != nil {
		return "", err
	}
	write := h.git("write-tree")
	write.index = index
	return write.text(ctx)
}

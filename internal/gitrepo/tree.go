package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// EmptyTree is the tree without entries, for commits that only carry a message.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// WriteBlob stores data and returns its id.
func (h *Host) WriteBlob(ctx context.Context, data []byte) (string, error) {
	c := h.git("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin")
	c.stdin = data
	if data == nil {
		c.stdin = []byte{}
	}
	id, err := c.text(ctx)
	if err != nil {
		return "", fmt.Errorf("write blob: %w", err)
	}
	return id, nil
}

// BuildTree writes a tree of files (by path, mode 100644) and of whole trees, each
// under its directory.
func (h *Host) BuildTree(ctx context.Context, files map[string][]byte, trees map[string]string) (string, error) {
	ids, err := h.writeBlobs(ctx, files)
	if err != nil {
		return "", err
	}
	var changes []Change
	for _, p := range slices.Sorted(maps.Keys(files)) {
		changes = append(changes, Change{Path: p, Status: 'A', NewMode: "100644", NewID: ids[p]})
	}
	return h.compose(ctx, EmptyTree, changes, trees)
}

// writeBlobs stores several blobs by one git, which reads them from copies under names
// of ours.
func (h *Host) writeBlobs(ctx context.Context, files map[string][]byte) (map[string]string, error) {
	ids := map[string]string{}
	if len(files) == 0 {
		return ids, nil
	}
	tmp, remove, err := h.temporary("blobs")
	if err != nil {
		return nil, fmt.Errorf("write blobs: %w", err)
	}
	defer remove()
	var list bytes.Buffer
	names := slices.Sorted(maps.Keys(files))
	for i, name := range names {
		file := filepath.Join(tmp, strconv.Itoa(i))
		if err := os.WriteFile(file, files[name], 0o600); err != nil {
			return nil, fmt.Errorf("write blobs: %w", err)
		}
		fmt.Fprintln(&list, file)
	}
	c := h.git("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin-paths")
	c.stdin = list.Bytes()
	out, err := c.text(ctx)
	if err != nil {
		return nil, fmt.Errorf("write blobs: %w", err)
	}
	written := strings.Fields(out)
	if len(written) != len(names) {
		return nil, fmt.Errorf("write blobs: %d of %d were written", len(written), len(names))
	}
	for i, name := range names {
		ids[name] = written[i]
	}
	return ids, nil
}

// Apply writes the tree that base becomes by the given changes alone.
func (h *Host) Apply(ctx context.Context, base string, changes []Change) (string, error) {
	return h.compose(ctx, base, changes, nil)
}

// compose works in an index of its own; no work tree takes part.
func (h *Host) compose(ctx context.Context, base string, changes []Change, trees map[string]string) (string, error) {
	tmp, remove, err := h.temporary("index")
	if err != nil {
		return "", fmt.Errorf("compose tree: %w", err)
	}
	defer remove()
	index := h.git("read-tree", base)
	index.index = filepath.Join(tmp, "index")
	run := func(stdin []byte, args ...string) (string, error) {
		c := index
		c.args, c.stdin = args, stdin
		out, err := c.text(ctx)
		if err != nil {
			return "", fmt.Errorf("compose tree: %w", err)
		}
		return out, nil
	}
	if _, err := run(nil, "read-tree", base); err != nil {
		return "", err
	}
	if _, err := run(indexInfo(changes), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	for _, dir := range slices.Sorted(maps.Keys(trees)) {
		if _, err := run(nil, "read-tree", "-i", "--prefix="+strings.Trim(dir, "/")+"/", trees[dir]); err != nil {
			return "", err
		}
	}
	return run(nil, "write-tree")
}

// indexInfo puts the deletions first: a file may take the place of a directory.
func indexInfo(changes []Change) []byte {
	var gone, there bytes.Buffer
	for _, c := range changes {
		if c.Status == 'D' {
			fmt.Fprintf(&gone, "0 %s\t%s\x00", EmptyTree, c.Path)
			continue
		}
		fmt.Fprintf(&there, "%s %s\t%s\x00", c.NewMode, c.NewID, c.Path)
	}
	return append(gone.Bytes(), there.Bytes()...)
}

// Message returns the message of a commit.
func (h *Host) Message(ctx context.Context, commit string) (string, error) {
	out, err := h.git("log", "-1", "--no-show-signature", "--format=%B", "--end-of-options", commit).text(ctx)
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	return strings.TrimRight(out, "\n"), nil
}

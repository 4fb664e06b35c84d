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
func (s *Store) WriteBlob(ctx context.Context, data []byte) (string, error) {
	c := s.git("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin")
	c.Stdin = data
	if data == nil {
		c.Stdin = []byte{}
	}
	id, err := c.Text(ctx)
	if err != nil {
		return "", fmt.Errorf("write blob: %w", err)
	}
	return id, nil
}

// BuildTree writes a tree of files (by path, mode 100644) and of whole trees, each
// under its directory.
func (s *Store) BuildTree(ctx context.Context, files map[string][]byte, trees map[string]string) (string, error) {
	ids, err := s.writeBlobs(ctx, files)
	if err != nil {
		return "", err
	}
	var changes []Change
	for _, p := range slices.Sorted(maps.Keys(files)) {
		changes = append(changes, Change{Path: p, Status: 'A', NewMode: "100644", NewID: ids[p]})
	}
	return s.compose(ctx, EmptyTree, changes, trees)
}

// writeBlobs stores several blobs by one git, which reads them from files that are
// named by number.
func (s *Store) writeBlobs(ctx context.Context, files map[string][]byte) (map[string]string, error) {
	ids := map[string]string{}
	if len(files) == 0 {
		return ids, nil
	}
	tmp, remove, err := s.Temporary("blobs")
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
	c := s.git("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin-paths")
	c.Stdin = list.Bytes()
	out, err := c.Text(ctx)
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
func (s *Store) Apply(ctx context.Context, base string, changes []Change) (string, error) {
	return s.compose(ctx, base, changes, nil)
}

// compose works in an index of its own; no work tree takes part.
func (s *Store) compose(ctx context.Context, base string, changes []Change, trees map[string]string) (string, error) {
	tmp, remove, err := s.Temporary("index")
	if err != nil {
		return "", fmt.Errorf("compose tree: %w", err)
	}
	defer remove()
	index := s.git("read-tree", base)
	index.Index = filepath.Join(tmp, "index")
	run := func(stdin []byte, args ...string) (string, error) {
		c := index
		c.Args, c.Stdin = args, stdin
		out, err := c.Text(ctx)
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
	var deleted, written bytes.Buffer
	for _, c := range changes {
		if c.Status == 'D' {
			fmt.Fprintf(&deleted, "0 %s\t%s\x00", EmptyTree, c.Path)
			continue
		}
		fmt.Fprintf(&written, "%s %s\t%s\x00", c.NewMode, c.NewID, c.Path)
	}
	return append(deleted.Bytes(), written.Bytes()...)
}

// Message returns the message of a commit.
func (s *Store) Message(ctx context.Context, commit string) (string, error) {
	out, err := s.git("log", "-1", "--no-show-signature", "--format=%B", "--end-of-options", commit).Text(ctx)
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	return strings.TrimRight(out, "\n"), nil
}

package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// EmptyTree is the tree without entries, for commits that only carry a message.
const EmptyTree = object.EmptyTree

// WriteBlob stores data and returns its id.
func (s *Store) WriteBlob(ctx context.Context, data []byte) (string, error) {
	if utf8.Valid(data) { // else git's own sum is wanted, see object.PackWriter.Binary
		return s.objects.Write(object.Blob, data)
	}
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

// composing makes trees of a store out of others.
type composing struct{ *Store }

// BuildTree writes a tree of files (by path, mode 100644) and of whole trees, each
// under its directory.
func (s *Store) BuildTree(ctx context.Context, files map[string][]byte, trees map[string]string) (string, error) {
	id, err := composing{s}.composed(ctx, EmptyTree, func(c *object.Composer) error {
		var errs []error
		for _, p := range slices.Sorted(maps.Keys(files)) {
			errs = append(errs, c.File(p, files[p]))
		}
		for dir, tree := range trees {
			errs = append(errs, c.Put(strings.Trim(dir, "/"), "040000", tree))
		}
		return errors.Join(errs...)
	})
	if !unread(err) {
		return id, err
	}
	ids, err := composing{s}.writeBlobs(ctx, files)
	if err != nil {
		return "", err
	}
	var changes []Change
	for _, p := range slices.Sorted(maps.Keys(files)) {
		changes = append(changes, Change{Path: p, Status: 'A', NewMode: "100644", NewID: ids[p]})
	}
	return composing{s}.compose(ctx, EmptyTree, changes, trees)
}

// writeBlobs stores several blobs by one git, which reads them from files that are
// named by number.
func (s composing) writeBlobs(ctx context.Context, files map[string][]byte) (map[string]string, error) {
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
	id, err := composing{s}.composed(ctx, base, func(c *object.Composer) error { return composed(c, changes) })
	if !unread(err) {
		return id, err
	}
	return composing{s}.compose(ctx, base, changes, nil)
}

// composed makes a tree of base without a process: what is new comes into the store together.
// fill says what changes. Git is asked where it fails with object.ErrUnread.
func (s composing) composed(ctx context.Context, base string, fill func(*object.Composer) error) (string, error) {
	tmp, remove, err := s.Temporary("tree")
	if err != nil {
		return "", err
	}
	defer remove()
	w, err := object.NewPack(filepath.Join(tmp, "pack"))
	if err != nil {
		return "", err
	}
	defer w.Close()
	c := object.Composer{From: s.objects.Reader(), Pack: w}
	defer c.From.Close()
	if err := fill(&c); err != nil {
		return "", err
	}
	id, err := c.Tree(base)
	if err == nil && w.Count() > 0 {
		err = s.TakePack(ctx, w)
	}
	return id, err
}

// composed has a tree get the changed side of changes.
func composed(c *object.Composer, changes []Change) error {
	var errs []error
	for _, ch := range changes {
		if ch.Status == 'D' {
			c.Remove(ch.Path)
		} else {
			errs = append(errs, c.Put(ch.Path, ch.NewMode, ch.NewID))
		}
	}
	return errors.Join(errs...)
}

// maxPackFiles is the number of files for packs from which on none is added: each pack is
// looked at by every later git of the store until the next Collect.
const maxPackFiles = 150

// TakePack takes a pack into the store: as it is, or as single objects.
func (s *Store) TakePack(ctx context.Context, w *object.PackWriter) error {
	f, err := w.Finish()
	if err != nil {
		return err
	}
	list, _ := os.ReadDir(filepath.Join(s.dir, "objects", "pack")) // absent: none
	switch {
	case len(list) >= maxPackFiles:
		_, err = s.git("unpack-objects", "-q").From(f).Run(ctx)
	case w.Binary():
		_, err = s.git("index-pack", "--stdin").From(f).Run(ctx)
	default:
		err = s.objects.Take(w)
	}
	return err
}

// compose works in an index of its own; no work tree takes part.
func (s composing) compose(ctx context.Context, base string, changes []Change, trees map[string]string) (string, error) {
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

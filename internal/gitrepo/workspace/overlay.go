package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// Overlay makes the files of a workspace those of a tree of the store. It is for a workspace that was just
// made at commit base, before anybody works in it, and writes nothing outside of it. Links and content of
// submodules are refused.
func Overlay(ctx context.Context, store *gitrepo.Store, dir, base, tree string) error {
	changes, err := store.Changes(ctx, base, tree)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// What a file takes the place of, a link or a directory, goes first.
	for _, c := range changes {
		if c.Status != 'A' {
			if err := removeBelow(root, c.Path); err != nil {
				return fmt.Errorf("remove %s: %w", c.Path, err)
			}
		}
	}
	for _, c := range changes {
		if c.Status == 'D' {
			continue
		}
		if err := writeBelow(ctx, store, root, c); err != nil {
			return fmt.Errorf("write %s: %w", c.Path, err)
		}
	}
	return nil
}

// removeBelow removes a file, and the directories that it leaves empty, as git does.
func removeBelow(root *os.Root, name string) error {
	for at := name; at != "."; at = path.Dir(at) {
		err := root.Remove(at)
		switch {
		case at != name && (errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)):
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

func writeBelow(ctx context.Context, store *gitrepo.Store, root *os.Root, c gitrepo.Change) error {
	perm := fs.FileMode(0o644)
	switch c.NewMode {
	case gitrepo.ModeSymlink, gitrepo.ModeGitlink:
		return errors.New("it is a link")
	case "100755":
		perm = 0o755
	}
	sizes, err := store.Sizes(ctx, []string{c.NewID})
	if err != nil {
		return err
	}
	data, err := store.Blob(ctx, c.NewID, sizes[c.NewID]+1)
	if err != nil {
		return err
	}
	if dir := path.Dir(c.Path); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return root.WriteFile(c.Path, data, perm)
}

package outgate

import (
	"bytes"
	"context"
)

const (
	pointerHead = "version https://git-lfs.github.com/spec/v1\n"
	maxPointer  = 1024
)

// lfs refuses content where the base keeps a pointer or what a filter makes: no filter
// has run, so the raw content would be committed.
func (c *check) lfs(ctx context.Context) error {
	if c.tooLarge {
		return nil
	}
	ids := map[string]string{}
	var paths []string
	for _, ch := range c.changes {
		if ch.NewMode == modeFile || ch.NewMode == modeExecutable {
			ids[ch.Path] = ch.NewID
			paths = append(paths, ch.Path)
		}
	}
	filters, err := c.repo.Filters(ctx, c.Base, paths)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if filters[p] == "" {
			continue
		}
		pointer, err := c.pointer(ctx, ids[p])
		if err != nil {
			return err
		}
		if !pointer {
			c.find(Finding{Rule: "lfs", Path: p, Text: "is kept by a filter such as LFS, and the new content is no pointer"})
		}
	}
	return nil
}

func (c *check) pointer(ctx context.Context, id string) (bool, error) {
	if c.sizes[id] > maxPointer {
		return false, nil
	}
	data, err := c.repo.Blob(ctx, id, maxPointer)
	return bytes.HasPrefix(data, []byte(pointerHead)), err
}

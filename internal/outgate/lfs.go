package outgate

import (
	"bytes"
	"context"
)

const (
	filterLFS   = "lfs"
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
		pointer := false
		if filters[p] == filterLFS {
			if pointer, err = c.pointer(ctx, ids[p]); err != nil {
				return err
			}
		}
		if !pointer {
			c.find(filterFinding(p, filters[p]))
		}
	}
	return nil
}

func filterFinding(path, filter string) Finding {
	if filter == filterLFS {
		return Finding{Rule: "lfs", Path: path, Text: "is kept in LFS, and the new content is not a pointer"}
	}
	return Finding{Rule: "filter", Path: path, Text: "has a filter of .gitattributes that is not LFS and does not run here: its content would be committed as it is"}
}

func (c *check) pointer(ctx context.Context, id string) (bool, error) {
	if c.sizes[id] > maxPointer {
		return false, nil
	}
	data, err := c.repo.Blob(ctx, id, maxPointer)
	return bytes.HasPrefix(data, []byte(pointerHead)), err
}

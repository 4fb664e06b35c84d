package outgate

import (
	"bytes"
	"context"
	"fmt"
)

const (
	softFiles  = 100
	softBytes  = 4 << 20
	softLines  = 20_000
	softText   = 1 << 20   // growth of one text file
	softBinary = 256 << 10 // growth of one binary file

	defaultMaxFiles = 3000
	defaultMaxBytes = 20 << 20
)

// size counts growth, not the size a file had: a small change of a large file passes.
func (c *check) size(ctx context.Context) error {
	var ids []string
	for _, ch := range c.changes {
		if blob(ch.OldMode) {
			ids = append(ids, ch.OldID)
		}
		if blob(ch.NewMode) {
			ids = append(ids, ch.NewID)
		}
	}
	var err error
	if c.sizes, err = c.repo.Sizes(ctx, distinct(ids)); err != nil {
		return err
	}
	growth := map[string]int64{}
	var added int64
	for _, ch := range c.changes {
		if !blob(ch.NewMode) {
			continue
		}
		if n := c.sizes[ch.NewID] - c.oldSize(ch.OldMode, ch.OldID); n > 0 {
			growth[ch.Path] = n
			added += n
		}
	}
	c.hardSize(added)
	if c.tooLarge {
		return nil
	}
	return c.softSize(ctx, added, growth)
}

func (c *check) oldSize(mode, id string) int64 {
	if !blob(mode) {
		return 0
	}
	return c.sizes[id]
}

func (c *check) hardSize(added int64) {
	maxFiles, maxBytes := c.MaxFiles, c.MaxBytes
	if maxFiles <= 0 {
		maxFiles = defaultMaxFiles
	}
	if maxBytes <= 0 {
		maxBytes = defaultMaxBytes
	}
	if n := len(c.changes); n > maxFiles {
		c.find(Finding{Rule: "size.files", Text: fmt.Sprintf("%d changed files, at most %d", n, maxFiles)})
		c.tooLarge = true
	}
	if added > maxBytes {
		c.find(Finding{Rule: "size.bytes", Text: fmt.Sprintf("%d bytes added, at most %d", added, maxBytes)})
		c.tooLarge = true
	}
}

// softSize holds what is large. What it says of the whole change names the limit and not the figure,
// so that it is the same words for a change that a person has seen and for one that lacks a file of it.
func (c *check) softSize(ctx context.Context, added int64, growth map[string]int64) error {
	lines := 0
	small, err := c.small(ctx, growth)
	if err != nil {
		return err
	}
	if !small {
		stats, err := c.repo.DiffStat(ctx, c.Base, c.Tree)
		if err != nil {
			return err
		}
		for _, s := range stats {
			lines += s.Added + s.Removed
			limit := int64(softText)
			if s.Binary {
				limit = softBinary
			}
			if growth[s.Path] > limit {
				c.hold(Note{"size.growth", s.Path, fmt.Sprintf("grows by %d bytes", growth[s.Path])})
			}
		}
	}
	if len(c.changes) > softFiles {
		c.hold(Note{"size.files", "", fmt.Sprintf("more than %d changed files", softFiles)})
	}
	if added > softBytes {
		c.hold(Note{"size.bytes", "", fmt.Sprintf("more than %d bytes added", softBytes)})
	}
	if lines > softLines {
		c.hold(Note{"size.lines", "", fmt.Sprintf("more than %d changed lines", softLines)})
	}
	return nil
}

// maxCounted is how many bytes are read to count their lines.
const maxCounted = 4 << 20

// small reports whether no limit of lines or of the growth of a file can be passed: no file
// grows by as much as a binary one may, and all lines of both sides together are not too many.
func (c *check) small(ctx context.Context, growth map[string]int64) (bool, error) {
	for _, n := range growth {
		if n > softBinary {
			return false, nil
		}
	}
	var ids []string
	total := int64(0)
	for _, ch := range c.changes {
		for _, side := range []struct{ mode, id string }{{ch.OldMode, ch.OldID}, {ch.NewMode, ch.NewID}} {
			if blob(side.mode) {
				ids, total = append(ids, side.id), total+c.sizes[side.id]
			}
		}
	}
	if total > maxCounted {
		return false, nil
	}
	data, err := c.repo.Blobs(ctx, distinct(ids))
	lines := 0
	for _, id := range ids {
		lines += bytes.Count(data[id], []byte("\n")) + 1
	}
	return lines <= softLines, err
}

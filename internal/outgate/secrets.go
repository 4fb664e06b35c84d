package outgate

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/redact"
)

const (
	// allowFile lists SHA-256 sums of test values. Only that of the base counts: a
	// change cannot allow its own secrets.
	allowFile    = ".agentmux/secret-allow"
	maxAllowFile = 1 << 20
	// maxScan bounds the two sides of one file together; a larger one blocks.
	maxScan = 128 << 20
	// scanChunk is about how much is read at a time.
	scanChunk = 16 << 20
)

// secrets searches contents, names and texts. Contents are searched whole, so that
// lines count as in the file; a pattern's match that the base has too is not a finding.
func (c *check) secrets(ctx context.Context) error {
	allowed, err := c.allowed(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Texts)) {
		c.report.secrets(name, c.Secrets.ScanAdded("", c.Texts[name]), allowed)
	}
	for _, ch := range c.changes {
		if ch.Status != 'D' {
			for _, f := range c.Secrets.ScanAdded("", ch.Path) {
				f.Line = 0
				c.report.secrets("(a file name)", []redact.Finding{f}, allowed)
			}
		}
	}
	if c.tooLarge {
		return nil
	}
	return c.contents(ctx, allowed)
}

// contents searches the changed files, some at a time.
func (c *check) contents(ctx context.Context, allowed map[string]bool) error {
	moved, err := c.moved(ctx)
	if err != nil {
		return err
	}
	var some []gitrepo.Change
	var bytes int64
	for i, ch := range c.changes {
		if blob(ch.NewMode) && ch.NewID != ch.OldID {
			size := c.sizes[ch.NewID] + c.oldSize(ch.OldMode, ch.OldID)
			if size > maxScan {
				c.find(Finding{Rule: "size.scan", Path: ch.Path, Text: "is too large to be searched for secrets"})
			} else {
				some, bytes = append(some, ch), bytes+size
			}
		}
		if bytes >= scanChunk || i == len(c.changes)-1 {
			if err := c.search(ctx, some, moved, allowed); err != nil {
				return err
			}
			some, bytes = nil, 0
		}
	}
	return nil
}

func (c *check) search(ctx context.Context, some []gitrepo.Change, moved string, allowed map[string]bool) error {
	var ids []string
	for _, ch := range some {
		ids = append(ids, ch.NewID)
		if blob(ch.OldMode) {
			ids = append(ids, ch.OldID)
		}
	}
	data, err := c.repo.Blobs(ctx, distinct(ids))
	if err != nil {
		return err
	}
	for _, ch := range some {
		base := moved
		if blob(ch.OldMode) {
			base = string(data[ch.OldID])
		}
		c.report.secrets(ch.Path, c.Secrets.ScanAdded(base, string(data[ch.NewID])), allowed)
		c.unseen(ch.Path, base, string(data[ch.NewID]))
	}
	return nil
}

// moved is the content of the deleted files: what an added file has of it is renamed,
// not new.
func (c *check) moved(ctx context.Context) (string, error) {
	var ids []string
	var bytes int64
	for _, ch := range c.changes {
		size := c.oldSize(ch.OldMode, ch.OldID)
		if ch.Status == 'D' && blob(ch.OldMode) && bytes+size <= scanChunk {
			ids, bytes = append(ids, ch.OldID), bytes+size
		}
	}
	data, err := c.repo.Blobs(ctx, distinct(ids))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, id := range ids {
		all.Write(data[id])
		all.WriteByte('\n')
	}
	return all.String(), nil
}

// allowed are the sums that let a pattern's match pass; exact values have none.
func (c *check) allowed(ctx context.Context) (map[string]bool, error) {
	set := map[string]bool{}
	for _, sum := range c.Approved {
		set[strings.ToLower(sum)] = true
	}
	data, err := c.repo.File(ctx, c.Base, allowFile, maxAllowFile)
	if errors.Is(err, gitrepo.ErrNoFile) {
		return set, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) > 0 && len(f[0]) == 64 {
			set[strings.ToLower(f[0])] = true
		}
	}
	return set, lines.Err()
}

func (r *Report) secrets(p string, found []redact.Finding, allowed map[string]bool) {
	for _, f := range found {
		if !f.Exact && allowed[f.SHA256] {
			continue
		}
		text := "looks like a secret"
		if f.Exact {
			text = "holds a secret of this program"
		}
		r.Findings = append(r.Findings, Finding{Rule: "secret." + f.Rule, Path: p, Line: f.Line, SHA256: f.SHA256, Text: text})
	}
}

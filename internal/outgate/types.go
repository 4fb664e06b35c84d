package outgate

import (
	"context"
	"path"
	"strings"

	"github.com/agentmux/agentmux/internal/sanitize"
)

// maxTarget bounds the target of a symlink; a path is not longer.
const maxTarget = maxPath

// types lets through files and symlinks that stay inside the tree.
func (c *check) types(ctx context.Context) error {
	for _, ch := range c.changes {
		switch ch.NewMode {
		case modeFile, modeExecutable, absentMode:
		case modeSymlink:
			if err := c.symlink(ctx, ch.Path, ch.NewID); err != nil {
				return err
			}
		case modeGitlink:
			c.find(Finding{Rule: "type", Path: ch.Path, Text: "is a submodule or nested repository"})
		default:
			c.find(Finding{Rule: "type", Path: ch.Path, Text: "has file mode " + ch.NewMode})
		}
	}
	return nil
}

const absentMode = "000000"

func (c *check) symlink(ctx context.Context, p, id string) error {
	if c.sizes[id] > maxTarget {
		c.find(Finding{Rule: "type", Path: p, Text: "symlink has a long target"})
		return nil
	}
	data, err := c.repo.Blob(ctx, id, maxTarget)
	if err != nil {
		return err
	}
	target, problem := resolve(p, string(data))
	if problem != "" {
		c.find(Finding{Rule: "type", Path: p, Text: problem})
		return nil
	}
	c.classify(place{target, p, "through a symlink: ", true}, c.protected(), patterns(c.Allow...))
	return nil
}

// resolve returns the path of the tree that a symlink at p points to. ".." may only
// come first: behind the name of another symlink it would lead elsewhere than it
// reads.
func resolve(p, target string) (resolved, problem string) {
	switch {
	case target == "" || strings.HasPrefix(target, "/"):
		return "", "symlink is not relative"
	case strings.ContainsFunc(target, unseen) || strings.Contains(target, `\`):
		return "", "symlink has a target that is not plain"
	}
	inner := target
	for strings.HasPrefix(inner, "../") || strings.HasPrefix(inner, "./") {
		_, inner, _ = strings.Cut(inner, "/")
	}
	for name := range strings.SplitSeq(inner, "/") {
		if name == ".." && inner != ".." {
			return "", "symlink goes up behind a name"
		}
	}
	resolved = path.Join(path.Dir(p), target)
	if resolved == ".." || strings.HasPrefix(resolved, "../") {
		return "", "symlink leads out of the tree"
	}
	for name := range strings.SplitSeq(sanitize.Fold(resolved), "/") {
		if name == ".git" {
			return "", "symlink leads into a git directory"
		}
	}
	return resolved, ""
}

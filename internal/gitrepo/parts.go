package gitrepo

import (
	"context"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// Parents lists the parents of a commit.
func Parents(ctx context.Context, s *Store, commit string) ([]string, error) {
	out, err := s.git("log", "-1", "--no-show-signature", "--format=%P", "--end-of-options", commit).Text(ctx)
	return strings.Fields(out), err
}

// Subtree returns the tree of a directory of a commit; [EmptyTree] if there is none.
func Subtree(ctx context.Context, s *Store, commit, dir string) (string, error) {
	out, err := s.git("ls-tree", "-z", "--full-tree", commit, "--", dir).Run(ctx)
	if err != nil {
		return "", err
	}
	for _, rec := range git.Records(out) {
		meta, _, _ := strings.Cut(rec, "\t")
		if f := strings.Fields(meta); len(f) == 3 && f[1] == "tree" {
			return f[2], nil
		}
	}
	return EmptyTree, nil
}

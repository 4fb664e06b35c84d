package gitrepo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// Filters returns the filter attribute of those paths that have one by the attribute
// files of a tree or commit.
func (s *Store) Filters(ctx context.Context, tree string, paths []string) (map[string]string, error) {
	if s.direct.lack(tree, paths, "filter") {
		return map[string]string{}, nil
	}
	tmp, remove, err := s.Temporary("index")
	if err != nil {
		return nil, err
	}
	defer remove()
	c := s.git("read-tree", tree)
	c.Index = filepath.Join(tmp, "index")
	if _, err := c.Run(ctx); err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	c.Args = []string{"check-attr", "-z", "--cached", "--stdin", "filter"}
	c.Stdin = git.Joined(paths)
	out, err := c.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	recs := git.Records(out)
	filters := map[string]string{}
	for i := 0; i+2 < len(recs); i += 3 {
		if v := recs[i+2]; v != "unspecified" && v != "unset" {
			filters[recs[i]] = v
		}
	}
	return filters, nil
}

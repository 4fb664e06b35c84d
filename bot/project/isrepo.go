package project

import (
	"context"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// IsNamed returns what reports whether a name is that of a repository, also one that it had before, which
// the server is asked about.
func IsNamed(c *ghsync.Client, repo ghsync.Repo) func(ctx context.Context, name string) (bool, error) {
	return func(ctx context.Context, name string) (bool, error) {
		owner, short, _ := strings.Cut(name, "/")
		if strings.EqualFold(name, repo.String()) || c == nil || owner == "" || short == "" {
			return strings.EqualFold(name, repo.String()), nil
		}
		named, err := c.Repository(ctx, owner, short)
		if transport.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		now, err := c.Repository(ctx, repo.Owner, repo.Name)
		return err == nil && named.ID == now.ID, err
	}
}

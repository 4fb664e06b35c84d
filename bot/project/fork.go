package project

import (
	"context"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/clone"
)

// Fork is where a person without write access to a repository pushes branches. Remote is a
// remote of their clone.
type Fork struct{ Remote, Owner string }

// FindFork looks in the clone that holds dir for a fork of repo, which is an "owner/name": its
// origin, else the only other remote on the same server that has the name and another owner.
// The zero value means that there is no fork, and that origin is repo or unknown.
func FindFork(ctx context.Context, dir, repo string) Fork {
	urls, err := clone.Pushes(ctx, dir)
	if err != nil {
		return Fork{}
	}
	server, origin := splitOrigin(urls["origin"])
	if origin.Owner == "" {
		return Fork{}
	}
	if !strings.EqualFold(origin.String(), repo) {
		return Fork{"origin", origin.Owner}
	}
	var forks []Fork
	for name, url := range urls {
		at, r := splitOrigin(url)
		if strings.EqualFold(r.Name, origin.Name) && !strings.EqualFold(r.Owner, origin.Owner) && strings.EqualFold(hostName(at), hostName(server)) {
			forks = append(forks, Fork{name, r.Owner})
		}
	}
	if len(forks) != 1 {
		return Fork{}
	}
	return forks[0]
}

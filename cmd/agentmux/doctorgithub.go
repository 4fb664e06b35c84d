package main

import (
	"context"
	"fmt"
	"io"

	"github.com/agentmux/agentmux/internal/config"
)

// probeGitHub asks who the token is and what it may do in origin's repository.
func (a *app) probeGitHub(ctx context.Context, c *config.Config, project string) []probe {
	id, err := a.identity(c)
	if err != nil {
		return []probe{{"github", probeFailed, err.Error(), "agentmux config check"}}
	}
	if id.tokens == nil && !actsAsApp(c) {
		return []probe{{"github", probeWarning, "no token", "set AGENTMUX_GITHUB_TOKEN or run gh auth login; agentmux run works without"}}
	}
	s := &site{project: project, config: c, identity: id}
	if err := a.wire(s, io.Discard, true); err != nil {
		return []probe{{"github", probeFailed, err.Error(), ""}}
	}
	if s.host.GitHub == nil {
		return []probe{{"github", probeWarning, "origin is not on " + id.bases.Server, "an App works for a repository there"}}
	}
	viewer, err := s.host.GitHub.Viewer(ctx)
	if err != nil {
		return []probe{{"github", probeFailed, explainGitHub(err, id.bases.API).Error(), "check github.host, the token and the network"}}
	}
	probes := []probe{{"github", probeOK, fmt.Sprintf("%s as %s, token from %s", id.bases.API, viewer.Login, id.from), ""}}
	p, err := s.host.Project(ctx, project, c)
	if err != nil || !p.GitHub {
		return append(probes, probe{"repository", probeWarning, "origin is not on " + id.bases.Server, "set github.host, or work without pull requests"})
	}
	repo, err := s.host.GitHub.Repository(ctx, p.Repo.Owner, p.Repo.Name)
	switch {
	case err != nil:
		return append(probes, probe{"repository", probeFailed, explainGitHub(err, p.Repo.String()).Error(), "give the token access to the repository"})
	case !s.mayPush(repo):
		return append(probes, probe{"repository", probeWarning, p.Repo.String() + ": this account may not write", "a run ends with a branch in this clone"})
	}
	return append(probes, probe{"repository", probeOK, fmt.Sprintf("%s, default branch %s, may write", p.Repo, repo.DefaultBranch), ""})
}

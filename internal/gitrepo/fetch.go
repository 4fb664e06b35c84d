package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// ErrShallow says that a clone lacks part of the history.
var ErrShallow = errors.New("the clone is shallow")

// FetchClone takes the commit that rev names in a person's clone, with its history
// and the tags that point into it, into the store, and returns its id. It
// stays reachable by refs/agentmux/base/<id>. ErrNoCommit if rev names none,
// ErrShallow if the clone lacks part of the history: fetch from the server then.
func (s *Store) FetchClone(ctx context.Context, clone, rev string) (string, error) {
	root, err := filepath.Abs(clone)
	if err != nil {
		return "", err
	}
	sha, err := git.Resolve(ctx, git.Call{Dir: root}, rev)
	if err != nil {
		return "", fmt.Errorf("fetch from the clone: %w", err)
	}
	shallow, err := git.Call{Dir: root, Args: []string{"rev-parse", "--is-shallow-repository"}}.Text(ctx)
	if err != nil {
		return "", fmt.Errorf("fetch from the clone: %w", err)
	}
	if _, err := s.Resolve(ctx, sha); err != nil && shallow == "true" {
		return "", fmt.Errorf("fetch from the clone: %w", ErrShallow)
	}
	ref := "refs/agentmux/base/" + sha
	if have, err := s.Ref(ctx, ref); err == nil && have == sha {
		if _, err := s.Resolve(ctx, sha); err == nil {
			return sha, nil
		} // the ref is there and its object is not: fetched again
	}
	c := s.git("fetch", "-q", "--no-recurse-submodules", "--no-write-fetch-head", root, "+"+sha+":"+ref)
	c.Transport = "file"
	if _, err := c.Run(ctx); err != nil {
		return "", fmt.Errorf("fetch from the clone: %w", err)
	}
	return sha, nil
}

// CloneDir is the git directory of a person's clone, with the objects of all its work trees.
func (s *Store) CloneDir(ctx context.Context, clone string) (string, error) {
	if dir := s.known.gitDir(clone); dir != "" {
		return dir, nil
	}
	c := git.Call{Dir: clone, Args: []string{"rev-parse", "--path-format=absolute", "--git-common-dir"}}
	dir, err := c.Text(ctx)
	if err != nil {
		return "", err
	}
	s.known.keepGitDir(clone, dir)
	return dir, nil
}

// Version returns the version of the installed git, such as "2.39.5".
func Version(ctx context.Context) (string, error) {
	out, err := git.Call{Dir: "/", Args: []string{"version"}}.Text(ctx)
	if err != nil {
		return "", err
	}
	f := strings.Fields(out)
	if len(f) < 3 {
		return "", fmt.Errorf("git version: unexpected answer %q", out)
	}
	return f[2], nil
}

package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// takeIn brings the work of the sessions of a managed project into its store that an earlier version left in another one: that
// named the store by what the repository was called then, and began with an empty one after a rename. What cannot be had now
// is tried again when the project is opened the next time.
func (h Opener) takeIn(ctx context.Context, p *Project, n Names) {
	if len(n.Names) < 2 {
		return
	}
	server := filepath.Base(filepath.Dir(filepath.Dir(p.Clone.Root)))
	for _, repo := range n.All() {
		dir, err := gitrepo.StorePath(cmp.Or(h.Stores, h.StateHome), server, strings.ToLower(repo.Owner), strings.ToLower(repo.Name))
		if err != nil || dir == p.Store.Dir() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
			continue
		}
		if err := h.takeFrom(ctx, p, dir); err != nil && ctx.Err() == nil {
			h.Log.Warn("the work of sessions is not taken from a host repository of an earlier version", "repository", dir, "err", err)
		}
	}
}

// takeFrom takes the refs of the sessions of a project from another store. Clones of people may have that one, too: those of
// their sessions stay there.
func (h Opener) takeFrom(ctx context.Context, p *Project, dir string) error {
	from, err := gitrepo.Open(ctx, dir)
	if err != nil {
		return err
	}
	refs, err := from.Refs(ctx, "refs/agentmux/")
	if err != nil {
		return err
	}
	entries, err := session.List(p.Clone.Root)
	if err != nil {
		return err
	}
	own := map[string]bool{}
	for _, e := range entries {
		if e.State != nil && session.ValidIdentity(e.State.Identity) {
			own[e.State.Identity] = true
		}
	}
	var problems []error
	for ref, commit := range refs {
		if !isOf(ref, own) {
			continue
		}
		if err := takeRef(ctx, p.Store, from, ref, commit); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", ref, err))
		}
	}
	return errors.Join(problems...)
}

// isOf reports whether a ref belongs to a session with one of these identities, or to one of its agents.
func isOf(ref string, identities map[string]bool) bool {
	for part := range strings.SplitSeq(ref, "/") {
		if identities[part[strings.LastIndexByte(part, '-')+1:]] {
			return true
		}
	}
	return false
}

// takeRef has a ref name in a store what it names in another one, unless it is further here.
func takeRef(ctx context.Context, to, from *gitrepo.Store, ref, commit string) error {
	have, err := to.Ref(ctx, ref)
	if err != nil || have == commit {
		return err
	}
	if _, err := to.FetchClone(ctx, from.Dir(), commit); err != nil {
		return err
	}
	if have != "" {
		if behind, err := to.IsAncestor(ctx, have, commit); err != nil || !behind {
			return err
		}
	}
	return to.UpdateRef(ctx, ref, commit, have)
}

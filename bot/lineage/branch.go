package lineage

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// Branch is one on the server, and what it has to be to count as the own one.
type Branch struct {
	Store   *gitrepo.Store
	Server  remote.Repository
	Name    string
	Base    string // commit that the work starts on
	Trailer string // last line of the message of each own commit
	// Judge returns what the output gate finds in the commits up to tip.
	Judge func(ctx context.Context, tip string) (found []string, err error)
}

// maxCommits bounds how many commits one unit makes before a machine dies: one, and one more for each machine before.
const maxCommits = 32

// Earlier fetches the branch and returns its last commit if each commit after the base is an own one that may leave
// the machine. why says what else the branch is; both are "" if it is not on the server.
func (b Branch) Earlier(ctx context.Context) (tip, why string, err error) {
	ref := "refs/heads/" + b.Name
	refs, err := b.Server.Refs(ctx, b.Store, ref)
	if err != nil || len(refs) == 0 {
		return "", "", err
	}
	tip = refs[0].ID
	if err := b.Server.Fetch(ctx, b.Store, "+"+ref+":refs/remotes/origin/"+b.Name); err != nil {
		return "", "", fmt.Errorf("fetch %s: %w", b.Name, err)
	}
	follows, err := b.Store.IsAncestor(ctx, b.Base, tip)
	if err != nil {
		return "", "", err
	}
	if !follows {
		return "", "it does not start on " + b.Base, nil
	}
	commits, err := gitrepo.Commits(ctx, b.Store, b.Base, tip)
	if err != nil {
		return "", "", err
	}
	if len(commits) == 0 || len(commits) > maxCommits {
		return "", fmt.Sprintf("it has %d commits after %s", len(commits), b.Base), nil
	}
	for _, c := range commits {
		message := strings.TrimRight(c.Message, "\n")
		if message[strings.LastIndexByte(message, '\n')+1:] != b.Trailer {
			return "", "its commit " + c.ID + " is another's", nil
		}
	}
	found, err := b.Judge(ctx, tip)
	if err != nil {
		return "", "", err
	}
	if len(found) > 0 {
		return "", "the output gate found " + found[0], nil
	}
	return tip, "", nil
}

// Continues reports whether a push of commit may follow a branch that is at tip, and that nothing tells to be pushed by
// this session: the branch has all of commit, or nothing after base that commit lacks.
func Continues(ctx context.Context, store *gitrepo.Store, commit, base, tip string) (bool, error) {
	if has, err := store.IsAncestor(ctx, commit, tip); err != nil || has {
		return has, err
	}
	if lacks, err := store.IsAncestor(ctx, tip, base); err != nil || lacks { // an empty branch that another has made
		return false, err
	}
	return store.IsAncestor(ctx, tip, commit)
}

// Keep notes in the refs of key that this session has pushed tip as its commit of a round.
func Keep(ctx context.Context, store *gitrepo.Store, key string, round int, tip string) error {
	for _, ref := range []string{gitrepo.RoundRef(key, round, "own"), gitrepo.RoundRef(key, round, "tip"), gitrepo.PushedRef(key)} {
		if err := store.Hold(ctx, ref, tip); err != nil {
			return err
		}
	}
	return nil
}

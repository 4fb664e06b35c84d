package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// CopyHistory gives an empty repository a commit as branch work, its history and the tags
// that point into it. It does what a fetch does, without the five further processes in
// which a fetch finds out what both sides have: an agent waits for it. It returns the commit
// up to which the history was kept.
func (s *Store) CopyHistory(ctx context.Context, gitDir, sha string) (from string, err error) {
	c := historyCopy{Store: s, gitDir: gitDir, sha: sha}
	return c.run(ctx)
}

// KeepHistory keeps the packs of a repository that holds the history of a commit and nothing
// else. Without them the next workspace takes longer; that is all.
func (s *Store) KeepHistory(gitDir, sha string) { histories(s.dir).keep(gitDir, sha) }

// DropHistories removes all histories that are kept, and reports whether there were any.
func (s *Store) DropHistories() bool { return histories(s.dir).drop(0) }

// historyCopy is one call of CopyHistory.
type historyCopy struct {
	*Store
	gitDir, sha string
}

func (c historyCopy) run(ctx context.Context) (from string, err error) {
	tags, err := c.tags(ctx)
	if err != nil {
		return "", err
	}
	refs, wanted := c.sha+" refs/heads/work\n", c.sha+"\n"
	for line := range strings.Lines(tags) {
		id, _, ok := strings.Cut(line, " ")
		if !ok {
			return "", fmt.Errorf("list tags: unexpected line %q", line)
		}
		refs, wanted = refs+strings.TrimSuffix(line, "\n")+"\n", wanted+id+"\n"
	}
	if from = c.take(ctx); from != "" {
		wanted += "^" + from + "\n"
	}
	if from != c.sha || tags != "" {
		if err := c.pack(ctx, wanted); err != nil {
			return "", err
		}
	}
	return from, os.WriteFile(filepath.Join(c.gitDir, "packed-refs"), []byte(refs), 0o666)
}

// take copies a history that the commit continues from, its own at best, and returns the
// commit it leads to; "" if none is kept.
func (c historyCopy) take(ctx context.Context) string {
	kept := histories(c.dir)
	if kept.take(c.gitDir, c.sha) {
		return c.sha
	}
	for _, old := range kept.commits() {
		if old != c.sha && c.continues(ctx, old) && kept.take(c.gitDir, old) {
			return old
		}
	}
	return ""
}

// continues reports whether old is in the history of the commit. Nothing else may reach a
// workspace.
func (c historyCopy) continues(ctx context.Context, old string) bool {
	if c.known.follows(old, c.sha) {
		return true
	}
	is, err := c.IsAncestor(ctx, old, c.sha)
	return err == nil && is
}

// pack copies the wanted objects, as "git rev-list --stdin" takes them, into a repository.
func (c historyCopy) pack(ctx context.Context, wanted string) error {
	pack := c.git("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
	pack.Stdin = []byte(wanted)
	// Nothing of a workspace is synced: after a power cut it holds what it holds.
	index := git.Call{GitDir: c.gitDir, Config: []string{"core.fsync=none"}, Args: []string{"index-pack", "--stdin"}}
	pack.Limit, index.Limit = git.NetworkLimit, git.NetworkLimit // a long history takes as long as its fetch does
	return git.Pipe(ctx, pack, index)
}

// tags lists the tags that point into the history of the commit, one "<id> <ref>" a line.
func (c historyCopy) tags(ctx context.Context) (string, error) {
	if c.untagged() {
		return "", nil
	}
	return c.git("for-each-ref", "--merged="+c.sha, "--format=%(objectname) %(refname)", "refs/tags").Text(ctx)
}

// untagged reports that the files of the repository show that it has no tags. Where they do
// not show it, git knows.
func (c historyCopy) untagged() bool {
	list, err := os.ReadDir(filepath.Join(c.dir, "refs", "tags"))
	if err != nil || len(list) > 0 {
		return false
	}
	packed, err := os.ReadFile(filepath.Join(c.dir, "packed-refs"))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !bytes.Contains(packed, []byte(" refs/tags/"))
}

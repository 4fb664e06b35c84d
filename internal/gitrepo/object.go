package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// Signature names an author or committer.
type Signature struct{ Name, Mail string }

// CommitSpec describes a commit. The same spec always gives the same id.
type CommitSpec struct {
	Tree      string
	Parents   []string
	Message   string
	Author    Signature
	Committer Signature // zero: the author
	Date      time.Time // of both, to the second, written in UTC
}

// Commit writes a commit object and returns its id. No hook runs, no ref moves.
func (s *Store) Commit(ctx context.Context, spec CommitSpec) (string, error) {
	args := []string{"commit-tree", spec.Tree, "-F", "-"}
	for _, p := range spec.Parents {
		args = append(args, "-p", p)
	}
	if !git.IsID(spec.Tree) {
		return "", fmt.Errorf("commit: bad tree id %q", spec.Tree)
	}
	c := s.git(args...)
	c.Stdin = []byte(spec.Message)
	c.Env = spec.identity()
	sha, err := c.Text(ctx)
	if err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	s.known.keepCommit(sha)
	s.known.keepTree(sha, spec.Tree)
	if len(spec.Parents) > 0 {
		s.known.keepParent(sha, spec.Parents[0])
	}
	return sha, nil
}

func (s CommitSpec) identity() []string {
	committer := s.Committer
	if committer == (Signature{}) {
		committer = s.Author
	}
	date := fmt.Sprintf("@%d +0000", s.Date.Unix())
	return []string{
		"GIT_AUTHOR_NAME=" + oneLine(s.Author.Name), "GIT_AUTHOR_EMAIL=" + oneLine(s.Author.Mail),
		"GIT_COMMITTER_NAME=" + oneLine(committer.Name), "GIT_COMMITTER_EMAIL=" + oneLine(committer.Mail),
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
	}
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// Entry is one path of a tree. Type is blob or commit (a gitlink).
type Entry struct {
	Mode, Type, ID, Path string
}

// Gitlink reports whether the entry is a submodule.
func (e Entry) Gitlink() bool { return e.Mode == ModeGitlink }

// The modes of what is not a file.
const (
	ModeSymlink = "120000"
	ModeGitlink = "160000"
)

// Entries lists all paths of a tree or commit, in git's order. The list is not the
// caller's to change.
func (s *Store) Entries(ctx context.Context, tree string) ([]Entry, error) {
	if list, ok := s.known.list(tree); ok {
		return list, nil
	}
	out, err := s.git("ls-tree", "-r", "-z", "--full-tree", tree).Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", tree, err)
	}
	var list []Entry
	for _, rec := range git.Records(out) {
		meta, path, ok := strings.Cut(rec, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 3 {
			return nil, fmt.Errorf("list %s: unexpected record %q", tree, rec)
		}
		list = append(list, Entry{Mode: f[0], Type: f[1], ID: f[2], Path: path})
	}
	s.known.keepList(tree, list)
	return list, nil
}

// Blob returns the content of a blob of at most max bytes, ErrTooLarge beyond.
func (s *Store) Blob(ctx context.Context, id string, max int64) ([]byte, error) {
	if !git.IsID(id) {
		return nil, fmt.Errorf("read blob: bad id %q", id)
	}
	c := s.git("cat-file", "blob", id)
	c.MaxOutput = max
	return c.Run(ctx)
}

// Blobs returns the contents of several blobs by id. The caller bounds their sizes
// (Sizes); the id of anything but a blob is an error.
func (s *Store) Blobs(ctx context.Context, ids []string) (map[string][]byte, error) {
	blobs := map[string][]byte{}
	if len(ids) == 0 {
		return blobs, nil
	}
	c := s.git("cat-file", "--batch=%(objectname) %(objecttype) %(objectsize)")
	c.Stdin = []byte(strings.Join(ids, "\n") + "\n")
	out, err := c.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read blobs: %w", err)
	}
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(head))
		if len(f) != 3 || f[1] != "blob" {
			return nil, fmt.Errorf("read blobs: %s", head)
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, fmt.Errorf("read blobs: bad size in %q", head)
		}
		blobs[f[0]] = rest[:size:size]
		out = rest[size+1:]
	}
	return blobs, nil
}

// File returns the content of path in rev. ErrNoCommit if it is not there.
func (s *Store) File(ctx context.Context, rev, path string, max int64) ([]byte, error) {
	out, err := s.git("ls-tree", "-z", "--full-tree", rev, path).Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", path, rev, err)
	}
	for _, rec := range git.Records(out) {
		meta, name, _ := strings.Cut(rec, "\t")
		if f := strings.Fields(meta); name == path && len(f) == 3 && f[1] == "blob" {
			return s.Blob(ctx, f[2], max)
		}
	}
	return nil, fmt.Errorf("read %s of %s: %w", path, rev, ErrNoFile)
}

// Sizes returns the sizes of blobs in bytes. An id without an object is left out.
func (s *Store) Sizes(ctx context.Context, ids []string) (map[string]int64, error) {
	sizes := map[string]int64{}
	if len(ids) == 0 {
		return sizes, nil
	}
	c := s.git("cat-file", "--batch-check=%(objectname) %(objectsize)")
	c.Stdin = []byte(strings.Join(ids, "\n") + "\n")
	out, err := c.Text(ctx)
	if err != nil {
		return nil, fmt.Errorf("read sizes: %w", err)
	}
	for line := range strings.Lines(out) {
		id, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(size, 10, 64); err == nil {
			sizes[id] = n
		}
	}
	return sizes, nil
}

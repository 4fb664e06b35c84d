package gitrepo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
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
	if !git.IsID(spec.Tree) {
		return "", fmt.Errorf("commit: bad tree id %q", spec.Tree)
	}
	sha, err := spec.write(ctx, s)
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

func (s CommitSpec) write(ctx context.Context, to *Store) (string, error) {
	if data, ok := s.plain(); ok && to.direct.linked(s) {
		return to.objects.Write(object.Commit, data)
	}
	args := []string{"commit-tree", s.Tree, "-F", "-"}
	for _, p := range s.Parents {
		args = append(args, "-p", p)
	}
	c := to.git(args...)
	c.Stdin = []byte(s.Message)
	c.Env = s.identity()
	return c.Text(ctx)
}

// plain returns the commit as git writes it. ok is false for words and names that git changes or
// refuses.
func (s CommitSpec) plain() (data []byte, ok bool) {
	author, committer := s.signatures()
	if !author.plain() || !committer.plain() || !utf8.ValidString(s.Message) || strings.Contains(s.Message, "\x00") || s.Date.Unix() < 0 {
		return nil, false
	}
	data = fmt.Appendf(nil, "tree %s\n", s.Tree)
	for i, p := range s.Parents {
		if slices.Contains(s.Parents[:i], p) {
			return nil, false
		}
		data = fmt.Appendf(data, "parent %s\n", p)
	}
	for _, by := range []struct {
		what string
		Signature
	}{{"author", author}, {"committer", committer}} {
		data = fmt.Appendf(data, "%s %s <%s> %d +0000\n", by.what, by.Name, by.Mail, s.Date.Unix())
	}
	return fmt.Appendf(data, "\n%s", s.Message), true
}

// plain reports whether git takes a name and a mail address as they are: it takes some
// characters away, and others at the ends.
func (s Signature) plain() bool {
	const within, atEnds = "<>\n\x00", " .,:;<>\"\\'"
	for _, text := range []string{s.Name, s.Mail} {
		if text == "" || !utf8.ValidString(text) || strings.ContainsAny(text, within) || strings.TrimFunc(text, func(r rune) bool {
			return r <= ' ' || strings.ContainsRune(atEnds, r)
		}) != text {
			return false
		}
	}
	return true
}

// signatures are who made the commit, without control characters.
func (s CommitSpec) signatures() (author, committer Signature) {
	author = Signature{oneLine(s.Author.Name), oneLine(s.Author.Mail)}
	if s.Committer == (Signature{}) {
		return author, author
	}
	return author, Signature{oneLine(s.Committer.Name), oneLine(s.Committer.Mail)}
}

func (s CommitSpec) identity() []string {
	author, committer := s.signatures()
	date := fmt.Sprintf("@%d +0000", s.Date.Unix())
	return []string{
		"GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Mail,
		"GIT_COMMITTER_NAME=" + committer.Name, "GIT_COMMITTER_EMAIL=" + committer.Mail,
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

package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// ErrNoCommit says that a revision names no commit of a repository.
var ErrNoCommit = errors.New("no such commit")

var objectID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// IsID reports whether s is the full id of an object.
func IsID(s string) bool { return objectID().MatchString(s) }

// Resolve returns the commit that rev names in the repository of c, ErrNoCommit if it names none.
func Resolve(ctx context.Context, c Call, rev string) (string, error) {
	c.Args = []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"}
	sha, err := c.Text(ctx)
	if code := ExitCode(err); code == 1 || code == 128 {
		return "", fmt.Errorf("resolve %q: %w", rev, ErrNoCommit)
	}
	if err == nil && !IsID(sha) {
		return "", fmt.Errorf("resolve %q: %w", rev, ErrNoCommit)
	}
	return sha, err
}

// CheckRef refuses names that git does not take for a full ref, or would read as an
// option or an expression.
func CheckRef(ref string) error {
	bad := !strings.HasPrefix(ref, "refs/") || !utf8.ValidString(ref) || strings.ContainsAny(ref, " ~^:?*[\\\x7f") ||
		strings.Contains(ref, "..") || strings.Contains(ref, "@{") || strings.ContainsFunc(ref, unicode.IsControl)
	for part := range strings.SplitSeq(ref, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		return fmt.Errorf("bad ref name %q", ref)
	}
	return nil
}

// Zero is the id that means "does not exist", as long as like.
func Zero(like string) string { return strings.Repeat("0", len(like)) }

package gitrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
	"github.com/agentmux/agentmux/internal/gitrepo/ref"
)

// ErrNoCommit says that a revision names no commit of the repository.
var ErrNoCommit = git.ErrNoCommit

// ErrMoved says that a ref is not where the caller last saw it.
var ErrMoved = ref.ErrMoved

// ErrTooLarge says that an answer is larger than the caller's limit.
var ErrTooLarge = git.ErrTooLarge

var pathPart = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// StorePath is where the store of <server>/<owner>/<repo> lies below the
// state home. The parts come from outside; one that is not a plain name is an error.
func StorePath(stateHome, server, owner, repo string) (string, error) {
	for _, part := range []string{server, owner, repo} {
		if !pathPart.MatchString(part) || strings.Trim(part, ".") == "" {
			return "", fmt.Errorf("host repository: bad name %q", part)
		}
	}
	return filepath.Join(stateHome, server, owner, repo+".git"), nil
}

// LocalStorePath is where the store of a clone without a remote lies.
func LocalStorePath(stateHome, clone string) string {
	sum := sha256.Sum256([]byte(clone))
	return filepath.Join(stateHome, "local", hex.EncodeToString(sum[:])+".git")
}

// Store is the bare repository of a project. It is safe for several goroutines and
// several processes: refs move by compare-and-swap, objects are only added.
type Store struct {
	// Restored is told of each file that git obeys and that was not as this program writes it.
	// It is back when the next git starts. May be nil; set before the first call.
	Restored func(file string)

	ref.Directory
	dir     string
	objects *object.Database
	direct  direct   // of objects
	mended  []string // what was missing when it was opened
	known   known
	turns   *turns // by the name of what is done
}

// Share has the store use what another one of the same directory knows of packs, and take turns
// with it. It is called before anything else.
func (s *Store) Share(other *Store) { s.use(other.objects, other.turns) }

func (s *Store) use(objects *object.Database, turns *turns) {
	s.objects, s.direct, s.turns = objects, direct{objects}, turns
	s.Directory = ref.New(s.dir, temporaries(s.dir).path(), s.git, objects)
}

// Open opens the bare repository at dir, an absolute path, and makes it if it is
// absent. Temporary files that a kill has left in it go, and what git needs besides objects
// and refs is made again. The error is a *DamagedError for one that holds work of sessions and
// cannot be used.
func Open(ctx context.Context, dir string) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open host repository: path %q is not absolute", dir)
	}
	o := opening{dir: dir}
	if err := o.open(ctx); err != nil {
		return nil, fmt.Errorf("open host repository: %w", err)
	}
	temporaries(dir).sweep()
	s := &Store{dir: dir, mended: o.mended}
	s.use(object.Open(filepath.Join(dir, "objects")), &turns{})
	return s, nil
}

// Mended names what was missing when the repository was opened, and was made again.
func (s *Store) Mended() []string { return s.mended }

// Objects are the objects of the store, for what is read and written without a process. What
// they do not know, git may.
func (s *Store) Objects() *object.Database { return s.objects }

// Dir is the repository's path.
func (s *Store) Dir() string { return s.dir }

// git is a call in the store, without work tree.
func (s *Store) git(args ...string) git.Call {
	return git.In(s, args...)
}

// Resolve returns the commit that rev names, ErrNoCommit if it names none.
func (s *Store) Resolve(ctx context.Context, rev string) (string, error) {
	if s.known.commit(rev) {
		return rev, nil
	}
	sha := rev
	if !s.direct.isCommit(rev) {
		var err error
		if sha, err = git.Resolve(ctx, s.git(), rev); err != nil {
			return sha, err
		}
	}
	s.known.keepCommit(sha)
	return sha, nil
}

// Tree returns the tree of a commit, or tree itself.
func (s *Store) Tree(ctx context.Context, rev string) (string, error) {
	if tree := s.known.tree(rev); tree != "" {
		return tree, nil
	}
	id, ok := s.direct.tree(rev)
	if !ok {
		var err error
		if id, err = s.git("rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{tree}").Text(ctx); err != nil {
			return "", fmt.Errorf("tree of %q: %w", rev, err)
		}
	}
	s.known.keepTree(rev, id)
	return id, nil
}

// Collect packs the repository and drops the objects that no ref reaches. Those of the
// last day stay: another process may be about to make a ref to them. While another process
// collects, Collect leaves it to that one.
func (s *Store) Collect(ctx context.Context) error {
	s.DropHistories()
	c := s.git("gc", "--quiet", "--prune=1.day.ago")
	c.Limit = git.NetworkLimit
	_, err := c.Run(ctx)
	// git gc removes its own file at its end, also when it fails.
	if _, other := os.Lstat(filepath.Join(s.dir, "gc.pid")); err == nil || other == nil {
		return nil
	}
	return fmt.Errorf("collect garbage: %w", err)
}

// IsAncestor reports whether old is reachable from new. A commit is its own ancestor.
func (s *Store) IsAncestor(ctx context.Context, old, new string) (bool, error) {
	_, err := s.git("merge-base", "--is-ancestor", old, new).Run(ctx)
	if git.ExitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Count is the number of commits reachable from tip but not from base.
func (s *Store) Count(ctx context.Context, base, tip string) (int, error) {
	out, err := s.git("rev-list", "--count", "--end-of-options", base+".."+tip).Text(ctx)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// Logged is a commit with its message.
type Logged struct{ ID, Message string }

// Commits lists the commits reachable from tip but not from base, the newest first.
func Commits(ctx context.Context, s *Store, base, tip string) ([]Logged, error) {
	out, err := s.git("log", "-z", "--no-show-signature", "--format=%H%n%B", "--end-of-options", base+".."+tip).Run(ctx)
	if err != nil {
		return nil, err
	}
	var list []Logged
	for _, rec := range git.Records(out) {
		id, message, _ := strings.Cut(rec, "\n")
		list = append(list, Logged{id, message})
	}
	return list, nil
}

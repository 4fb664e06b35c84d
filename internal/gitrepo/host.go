package gitrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/crash"
)

// ErrNoCommit says that a revision names no commit of the repository.
var ErrNoCommit = errors.New("no such commit")

// ErrMoved says that a ref is not where the caller saw it last.
var ErrMoved = errors.New("ref has moved")

// staleLock is the age at which a ref's lock file belongs to no living git: each call
// ends within networkLimit.
const staleLock = networkLimit + time.Minute

var (
	objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	pathPart = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

// HostPath is the place of the host repository of <server>/<owner>/<repo> below the
// state home. The parts come from outside; one that is no plain name is an error.
func HostPath(stateHome, server, owner, repo string) (string, error) {
	for _, part := range []string{server, owner, repo} {
		if !pathPart.MatchString(part) || strings.Trim(part, ".") == "" {
			return "", fmt.Errorf("host repository: bad name %q", part)
		}
	}
	return filepath.Join(stateHome, server, owner, repo+".git"), nil
}

// LocalHostPath is the place of the host repository of a clone without a remote.
func LocalHostPath(stateHome, clone string) string {
	sum := sha256.Sum256([]byte(clone))
	return filepath.Join(stateHome, "local", hex.EncodeToString(sum[:])+".git")
}

// Host is the host repository of a project. It is safe for several goroutines and
// several processes: refs move by compare-and-swap, objects are only added.
type Host struct {
	// Restored is told of each file that git obeys and that was not as this program writes it.
	// It is back when the next git starts. May be nil; set before the first call.
	Restored func(file string)

	dir    string
	mended []string // what was missing when it was opened
	known  known
	turns  turns                    // of snapshots, by index
	pauses []time.Duration          // before a read is tried again that the server broke off
	hook   func(point, path string) // tests only: called at the named points of a walk
}

// OpenHost opens the bare repository at dir, an absolute path, and makes it if it is
// absent. Temporary files that a kill has left in it go, and what git needs besides objects
// and refs is made again. The error is a *DamagedError for one that holds work of sessions and
// cannot be used.
func OpenHost(ctx context.Context, dir string) (*Host, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open host repository: path %q is not absolute", dir)
	}
	h := &Host{dir: dir, pauses: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}}
	there, err := h.whole(ctx)
	if err == nil && !there {
		err = h.create(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open host repository: %w", err)
	}
	h.sweep()
	return h, nil
}

// create makes the repository beside its place and renames it, so that it is seen
// whole or not at all.
func (h *Host) create(ctx context.Context) error {
	parent := filepath.Dir(h.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	init := call{dir: tmp, args: []string{"init", "-q", "--bare", "--template=", "-b", "none", tmp}}
	if _, err := init.run(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "config"), []byte(hostConfig), 0o600); err != nil {
		return err
	}
	crash.Point("make host repository", "")
	err = os.Rename(tmp, h.dir)
	crash.Point("rename host repository", "")
	if _, statErr := os.Stat(filepath.Join(h.dir, "HEAD")); err != nil && statErr != nil {
		return err
	}
	return nil
}

// Dir is the repository's path.
func (h *Host) Dir() string { return h.dir }

// git is a call in the host repository, without work tree.
func (h *Host) git(args ...string) call {
	return call{gitDir: h.dir, guard: h.guard, config: durable, args: args}
}

// durable makes objects and refs survive a power loss: the session's state counts on
// a commit once it has its id.
var durable = []string{"core.fsync=committed,reference", "core.fsyncMethod=batch"}

// Resolve returns the commit that rev names, ErrNoCommit if there is none.
func (h *Host) Resolve(ctx context.Context, rev string) (string, error) {
	if h.known.commit(rev) {
		return rev, nil
	}
	sha, err := resolve(ctx, h.git(), rev)
	if err == nil {
		h.known.keepCommit(sha)
	}
	return sha, err
}

func resolve(ctx context.Context, c call, rev string) (string, error) {
	c.args = []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"}
	sha, err := c.text(ctx)
	if code := exitCode(err); code == 1 || code == 128 {
		return "", fmt.Errorf("resolve %q: %w", rev, ErrNoCommit)
	}
	if err == nil && !objectID.MatchString(sha) {
		return "", fmt.Errorf("resolve %q: %w", rev, ErrNoCommit)
	}
	return sha, err
}

// Tree returns the tree of a commit, or tree itself.
func (h *Host) Tree(ctx context.Context, rev string) (string, error) {
	if tree := h.known.tree(rev); tree != "" {
		return tree, nil
	}
	id, err := h.git("rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{tree}").text(ctx)
	if err != nil {
		return "", fmt.Errorf("tree of %q: %w", rev, err)
	}
	h.known.keepTree(rev, id)
	return id, nil
}

// loose is the object a ref points to by a file of its own, which counts before what is
// packed. "" says nothing: git knows.
func (h *Host) loose(ref string) string {
	data, err := os.ReadFile(filepath.Join(h.dir, filepath.FromSlash(ref)))
	if id := strings.TrimSuffix(string(data), "\n"); err == nil && objectID.MatchString(id) {
		return id
	}
	return ""
}

// Ref returns the object a ref points to, "" if the ref does not exist.
func (h *Host) Ref(ctx context.Context, ref string) (string, error) {
	if err := checkRef(ref); err != nil {
		return "", err
	}
	if id := h.loose(ref); id != "" {
		return id, nil
	}
	id, err := h.git("rev-parse", "--verify", "--quiet", "--end-of-options", ref).text(ctx)
	if exitCode(err) == 1 {
		return "", nil
	}
	return id, err
}

// UpdateRef moves ref from old to new. Empty old means that the ref must not exist
// yet. ErrMoved if it is elsewhere; a ref that is at new already is success.
func (h *Host) UpdateRef(ctx context.Context, ref, new, old string) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	if !objectID.MatchString(new) || (old != "" && !objectID.MatchString(old)) {
		return fmt.Errorf("update %s: bad object id", ref)
	}
	h.dropStaleLock(ref)
	if old == "" {
		old = zero(new)
	}
	_, err := h.git("update-ref", "--no-deref", ref, new, old).run(ctx)
	return h.settled(ctx, err, ref, new)
}

// DeleteRef removes ref if it is at old. An absent ref is success.
func (h *Host) DeleteRef(ctx context.Context, ref, old string) error {
	if err := checkRef(ref); err != nil {
		return err
	}
	if !objectID.MatchString(old) {
		return fmt.Errorf("delete %s: bad object id", ref)
	}
	h.dropStaleLock(ref)
	_, err := h.git("update-ref", "--no-deref", "-d", ref, old).run(ctx)
	return h.settled(ctx, err, ref, "")
}

// settled tells a lost compare-and-swap from any other failure by reading the ref.
func (h *Host) settled(ctx context.Context, err error, ref, want string) error {
	if err == nil {
		return nil
	}
	now, readErr := h.Ref(ctx, ref)
	switch {
	case readErr != nil:
		return err
	case now == want:
		return nil
	case says(err, ".lock"):
		return err
	}
	return fmt.Errorf("%s is at %q: %w", ref, now, ErrMoved)
}

// Collect packs the repository and drops the objects that no ref reaches. Those of the
// last day stay: somebody may be about to make a ref to them.
func (h *Host) Collect(ctx context.Context) error {
	h.dropHistories(0)
	c := h.git("gc", "--quiet", "--prune=1.day.ago")
	c.limit = networkLimit
	if _, err := c.run(ctx); err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	return nil
}

// Refs lists the refs below a prefix such as "refs/agentmux/sessions/", by name.
func (h *Host) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	if err := checkRef(strings.TrimSuffix(prefix, "/")); err != nil {
		return nil, err
	}
	out, err := h.git("for-each-ref", "--format=%(refname) %(objectname)", prefix).text(ctx)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if name, id, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs[name] = id
		}
	}
	return refs, nil
}

// IsAncestor reports whether old is reachable from new. A commit is its own ancestor.
func (h *Host) IsAncestor(ctx context.Context, old, new string) (bool, error) {
	_, err := h.git("merge-base", "--is-ancestor", old, new).run(ctx)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Count is the number of commits reachable from tip but not from base.
func (h *Host) Count(ctx context.Context, base, tip string) (int, error) {
	out, err := h.git("rev-list", "--count", "--end-of-options", base+".."+tip).text(ctx)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// dropStaleLock removes the lock file that a git killed long ago left behind.
func (h *Host) dropStaleLock(ref string) {
	lock := filepath.Join(h.dir, filepath.FromSlash(ref)+".lock")
	if info, err := os.Lstat(lock); err == nil && time.Since(info.ModTime()) > staleLock {
		_ = os.Remove(lock)
	}
}

// checkRef refuses names that git does not take for a full ref, or would read as an
// option or an expression.
func checkRef(ref string) error {
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

// zero is the id that stands for "does not exist", as long as like.
func zero(like string) string { return strings.Repeat("0", len(like)) }

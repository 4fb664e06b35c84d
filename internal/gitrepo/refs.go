package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// ErrMoved says that a ref is not where the caller last saw it.
var ErrMoved = errors.New("ref has moved")

// staleLock is the age at which a ref's lock file belongs to no living git: each call
// ends within git.NetworkLimit.
const staleLock = git.NetworkLimit + time.Minute

// refs are the refs of a store.
type refs struct {
	dir string
	git func(args ...string) git.Call
}

// loose is the object a ref points to by a file of its own, which counts before what is
// packed. After "" only git knows.
func (r refs) loose(ref string) string {
	data, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(ref)))
	if id := strings.TrimSuffix(string(data), "\n"); err == nil && git.IsID(id) {
		return id
	}
	return ""
}

// Ref returns the object a ref points to, "" if the ref does not exist.
func (r refs) Ref(ctx context.Context, ref string) (string, error) {
	if err := git.CheckRef(ref); err != nil {
		return "", err
	}
	if id := r.loose(ref); id != "" {
		return id, nil
	}
	id, err := r.git("rev-parse", "--verify", "--quiet", "--end-of-options", ref).Text(ctx)
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	return id, err
}

// UpdateRef moves ref from old to new. Empty old means that the ref must not exist
// yet. ErrMoved if it is elsewhere; a ref that is at new already is success.
func (r refs) UpdateRef(ctx context.Context, ref, new, old string) error {
	if err := git.CheckRef(ref); err != nil {
		return err
	}
	if !git.IsID(new) || (old != "" && !git.IsID(old)) {
		return fmt.Errorf("update %s: bad object id", ref)
	}
	r.dropStaleLock(ref)
	if old == "" {
		old = git.Zero(new)
	}
	_, err := r.git("update-ref", "--no-deref", ref, new, old).Run(ctx)
	return r.settled(ctx, err, ref, new)
}

// DeleteRef removes ref if it is at old. An absent ref is success.
func (r refs) DeleteRef(ctx context.Context, ref, old string) error {
	if err := git.CheckRef(ref); err != nil {
		return err
	}
	if !git.IsID(old) {
		return fmt.Errorf("delete %s: bad object id", ref)
	}
	r.dropStaleLock(ref)
	_, err := r.git("update-ref", "--no-deref", "-d", ref, old).Run(ctx)
	return r.settled(ctx, err, ref, "")
}

// settled tells a lost compare-and-swap from any other failure by reading the ref.
func (r refs) settled(ctx context.Context, err error, ref, want string) error {
	if err == nil {
		return nil
	}
	now, readErr := r.Ref(ctx, ref)
	switch {
	case readErr != nil:
		return err
	case now == want:
		return nil
	case git.Says(err, ".lock"):
		return err
	}
	return fmt.Errorf("%s is at %q: %w", ref, now, ErrMoved)
}

// Refs lists the refs below a prefix such as "refs/agentmux/sessions/", by name.
func (r refs) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	if err := git.CheckRef(strings.TrimSuffix(prefix, "/")); err != nil {
		return nil, err
	}
	out, err := r.git("for-each-ref", "--format=%(refname) %(objectname)", prefix).Text(ctx)
	if err != nil {
		return nil, err
	}
	list := map[string]string{}
	for line := range strings.Lines(out) {
		if name, id, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			list[name] = id
		}
	}
	return list, nil
}

// Hold makes ref point to commit, wherever it pointed before. Nothing else moves such a ref,
// so no race can be lost. A ref that is there already costs no process: a machine that
// starts again asks for it in all of its sessions. ErrNoCommit if the commit is
// not there.
func (r refs) Hold(ctx context.Context, ref, commit string) error {
	if err := git.CheckRef(ref); err != nil {
		return err
	}
	if !git.IsID(commit) {
		return fmt.Errorf("hold %s: bad object id", ref)
	}
	if r.loose(ref) == commit {
		return nil
	}
	r.dropStaleLock(ref)
	if _, err := r.git("update-ref", "--no-deref", ref, commit).Run(ctx); err != nil {
		// git is asked: what this process knows of the commit may be out of date.
		if _, missing := git.Resolve(ctx, r.git(), commit); missing != nil {
			return fmt.Errorf("hold %s: %w", ref, missing)
		}
		return fmt.Errorf("hold %s: %w", ref, err)
	}
	return nil
}

// dropStaleLock removes the lock file that a git killed long ago left behind.
func (r refs) dropStaleLock(ref string) {
	lock := filepath.Join(r.dir, filepath.FromSlash(ref)+".lock")
	if info, err := os.Lstat(lock); err == nil && time.Since(info.ModTime()) > staleLock {
		_ = os.Remove(lock)
	}
}

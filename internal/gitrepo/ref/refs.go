// Package ref reads and moves the refs of a repository of ours: files below its directory refs,
// and the file packed-refs.
//
// A ref that is read or moved costs no process; what git decides about it decides: names that
// cannot be, refs that are not ids. Moves are compare-and-swap, under the lock that git takes as
// well, and on disk when the call returns. A process that is killed with the lock in its hand is
// found out by the next one, see lock.
//
// Stored: what git stores, and for the time of a move a file ref-* in the directory of temporary
// files.
package ref

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo/git"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// ErrMoved says that a ref is not where the caller last saw it.
var ErrMoved = errors.New("ref has moved")

// staleLock is the age at which a ref's lock file belongs to no living git: each call
// ends within git.NetworkLimit.
const staleLock = git.NetworkLimit + time.Minute

// Directory has the refs of a repository.
type Directory struct {
	dir     string // of the repository
	tmp     string // for temporary files; made if missing
	git     func(args ...string) git.Call
	objects *object.Database
}

// New returns the refs of the repository at dir and touches nothing. tmp is a directory for
// temporary files in the same file system; call begins a call of git in the repository.
func New(dir, tmp string, call func(args ...string) git.Call, objects *object.Database) Directory {
	return Directory{dir: dir, tmp: tmp, git: call, objects: objects}
}

// loose is the object a ref points to by a file of its own, which counts before what is
// packed. After "" only git knows.
func (r Directory) loose(ref string) string {
	data, err := os.ReadFile(r.path(ref))
	if id := strings.TrimSuffix(string(data), "\n"); err == nil && git.IsID(id) {
		return id
	}
	return ""
}

func (r Directory) path(ref string) string { return filepath.Join(r.dir, filepath.FromSlash(ref)) }

// read is Ref without a process. known is false where only git knows: for a file that is no id.
func (r Directory) read(ref string) (id string, known bool) {
	if id := r.loose(ref); id != "" {
		return id, true
	}
	if info, err := os.Lstat(r.path(ref)); err == nil && !info.IsDir() {
		return "", false
	}
	// In this order: git writes a ref there before it removes its file.
	packed, err := r.packed()
	if err != nil {
		return "", false
	}
	id = packed.id(ref)
	return id, id == "" || git.IsID(id)
}

// packedRefs is the file of refs that have no file of their own: lines of "<id> <ref>".
type packedRefs string

func (r Directory) packed() (packedRefs, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return packedRefs(data), err
}

// id returns what is before a ref, "" if it is not there.
func (p packedRefs) id(ref string) string {
	i := strings.Index(string(p), " "+ref+"\n")
	if i < 0 {
		return ""
	}
	return string(p[strings.LastIndexByte(string(p[:i]), '\n')+1 : i])
}

// obstruct reports whether there are refs below ref, or one that it would be below: the name of
// a file and of a directory cannot be the same.
func (p packedRefs) obstruct(ref string) bool {
	if strings.Contains(string(p), " "+ref+"/") {
		return true
	}
	for dir := path.Dir(ref); dir != "."; dir = path.Dir(dir) {
		if p.id(dir) != "" {
			return true
		}
	}
	return false
}

// Ref returns the object a ref points to, "" if the ref does not exist.
func (r Directory) Ref(ctx context.Context, ref string) (string, error) {
	if err := git.CheckRef(ref); err != nil {
		return "", err
	}
	if id, known := r.read(ref); known {
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
func (r Directory) UpdateRef(ctx context.Context, ref, new, old string) error {
	if err := git.CheckRef(ref); err != nil {
		return err
	}
	if !git.IsID(new) || (old != "" && !git.IsID(old)) {
		return fmt.Errorf("update %s: bad object id", ref)
	}
	if moved, err := r.move(ctx, ref, new, &old); moved {
		return err
	}
	r.dropStaleLock(ref)
	if old == "" {
		old = git.Zero(new)
	}
	_, err := r.git("update-ref", "--no-deref", ref, new, old).Run(ctx)
	return r.settled(ctx, err, ref, new)
}

// DeleteRef removes ref if it is at old. An absent ref is success.
func (r Directory) DeleteRef(ctx context.Context, ref, old string) error {
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
func (r Directory) settled(ctx context.Context, err error, ref, want string) error {
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
func (r Directory) Refs(ctx context.Context, prefix string) (map[string]string, error) {
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
func (r Directory) Hold(ctx context.Context, ref, commit string) error {
	if err := git.CheckRef(ref); err != nil {
		return err
	}
	if !git.IsID(commit) {
		return fmt.Errorf("hold %s: bad object id", ref)
	}
	if r.loose(ref) == commit {
		return nil
	}
	if moved, err := r.move(ctx, ref, commit, nil); moved {
		return err
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

// dropStaleLock removes the lock file of a process of ours that was killed, or that a git killed
// long ago left behind.
func (r Directory) dropStaleLock(ref string) {
	lock := r.path(ref) + ".lock"
	if r.dropDead(lock) {
		return
	}
	if info, err := os.Lstat(lock); err == nil && time.Since(info.ModTime()) > staleLock {
		_ = os.Remove(lock)
	}
}

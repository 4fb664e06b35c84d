package ref

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo/object"
)

// move moves a ref to new without a process, under the lock that git takes, too. old is where it
// must be, "" for nowhere; nil is wherever it is. moved is false where git is to be asked: for
// what git refuses, and for what is held by another.
func (r Directory) move(ctx context.Context, ref, new string, old *string) (moved bool, err error) {
	if kind, _, err := r.objects.Stat(new); err != nil || kind != object.Commit {
		return false, nil
	}
	l := lock{Directory: r, ref: ref}
	defer l.close()
	if !l.take(ctx, new) {
		return false, nil
	}
	now, known := r.read(ref)
	switch {
	case !known:
		return false, nil
	case now == new:
		return true, nil
	case old != nil && now != *old:
		return true, fmt.Errorf("%s is at %q: %w", ref, now, ErrMoved)
	}
	if err := os.Rename(l.name, r.path(ref)); err != nil {
		return false, nil //nolint:nilerr // git says what is in the way
	}
	l.name = ""
	crash.Point("rename ref", "")
	return true, durable.SyncDir(filepath.Dir(r.path(ref)))
}

// lock is the lock of a ref: the file that becomes the ref. It has a second name in the
// directory of temporary files, under which this process holds a lock of the kernel on it. So a
// lock whose process was killed is told from one of a living process, and from those of git.
type lock struct {
	Directory
	ref  string
	file *os.File // by its second name
	name string   // its name beside the ref; "" if it has none
}

const (
	// lockTime is how long another process may hold a ref; git waits as long.
	lockTime  = 100 * time.Millisecond
	lockPause = 2 * time.Millisecond
)

// take makes the lock. It fails if another has it, and for a name that cannot be a ref now.
func (l *lock) take(ctx context.Context, new string) bool {
	at := l.path(l.ref)
	if info, err := os.Lstat(at); err == nil && info.IsDir() {
		return false // git removes it, if nothing is in it
	} else if err != nil {
		if packed, err := l.packed(); err != nil || packed.obstruct(l.ref) {
			return false
		}
	}
	if err := os.MkdirAll(l.tmp, 0o700); err != nil {
		return false
	}
	dir := filepath.Dir(at)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if durable.MkdirAll(dir) != nil {
			return false
		}
	}
	var err error
	if l.file, err = os.CreateTemp(l.tmp, tempName+"*"); err != nil {
		return false
	}
	_, err = l.file.WriteString(new + "\n")
	if err = errors.Join(err, flock(l.file), l.file.Sync()); err != nil {
		return false
	}
	name := at + ".lock"
	limit := time.NewTimer(lockTime)
	defer limit.Stop()
	again := time.NewTicker(lockPause)
	defer again.Stop()
	for {
		err := os.Link(l.file.Name(), name)
		if err == nil {
			l.name = name
			crash.Point("lock ref", "")
			return true
		}
		if !errors.Is(err, fs.ErrExist) {
			return false
		}
		if l.dropDead(name) {
			continue
		}
		select {
		case <-again.C:
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// close gives the lock back. What became the ref stays.
func (l *lock) close() {
	if l.name != "" {
		_ = os.Remove(l.name)
	}
	if l.file != nil {
		_ = os.Remove(l.file.Name())
		_ = l.file.Close()
	}
}

// tempName begins the second names of locks.
const tempName = "ref-"

// dropDead removes the lock of a process of ours that was killed, and reports whether it was
// one.
func (r Directory) dropDead(lock string) bool {
	info, err := os.Lstat(lock)
	if err != nil {
		return false
	}
	list, _ := filepath.Glob(filepath.Join(r.tmp, tempName+"*"))
	for _, name := range list {
		second, err := os.Lstat(name)
		if err != nil || !os.SameFile(info, second) {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return false
		}
		defer f.Close()
		if flock(f) != nil {
			return false // its process lives
		}
		// Looked at once more with the lock of the kernel: another process may have been faster,
		// and the lock may be a third one's by now.
		if now, err := os.Lstat(lock); err != nil || !os.SameFile(now, second) {
			return true
		}
		return errors.Join(os.Remove(lock), os.Remove(name)) == nil
	}
	return false
}

// flock takes the lock of the kernel on an open file, which ends with it, without waiting.
func flock(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) })
	return errors.Join(err, failed)
}

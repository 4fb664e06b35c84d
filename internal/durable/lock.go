package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
)

// ErrLocked says that another process, or another part of this one, holds the
// lock.
var ErrLocked = errors.New("locked")

// HandOver is how long a process that takes over a lock from the one that
// prepared its work waits in LockWithin.
const HandOver = 2 * time.Second

// probersWait is how long Lock tries while nothing but probes hold the lock.
const probersWait = 2 * time.Second

// Held is a lock held by this process. It ends with Close or with the process,
// however that ends; children do not inherit it.
type Held struct{ file File }

// Valid reports whether the file at path, where the lock is now, is the one that is held. Where it
// was removed or replaced, others take the lock beside this one.
func (h *Held) Valid(path string) bool { return h.file != nil && named(h.file, path) }

// Lock takes the lock on the file path, which is made if missing, and writes
// text into it for people to read. If it is held the error is ErrLocked;
// a Probe never makes it fail.
func Lock(path, text string) (*Held, error) { return Disk{}.lock(path, text, 0) }

// LockWithin is Lock, but waits up to wait for the holder to let go.
func LockWithin(path, text string, wait time.Duration) (*Held, error) {
	return Disk{}.LockWithin(path, text, wait)
}

// LockWithin is the function LockWithin, on this disk.
func (d Disk) LockWithin(path, text string, wait time.Duration) (*Held, error) {
	return d.lock(path, text, wait)
}

// Probe reports whether the lock on path is held. It disturbs no holder. A
// missing file is not held.
func Probe(path string) (held bool, err error) { return Disk{}.probe(path) }

// Close lets the lock go. The file stays. It may be called again.
func (h *Held) Close() error {
	if h.file == nil {
		return nil
	}
	// Unlocked by name: a child between fork and exec holds a copy of the
	// descriptor, and closing this one would not free the lock.
	err := errors.Join(h.file.Flock(syscall.LOCK_UN), h.file.Close())
	h.file = nil
	if err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

func (d Disk) lock(path, text string, wait time.Duration) (*Held, error) {
	for {
		f, err := d.open(path, Lockable)
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		if err := lockExclusive(f, wait); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, errors.Join(err, f.Close()))
		}
		if named(f, path) {
			crash.Point("lock", path)
			writeText(f, text)
			return &Held{file: f}, nil
		}
		f.Close() // removed or replaced meanwhile: a lock that no other process would see
	}
}

// lockExclusive tries for at least wait. A process that holds the lock exclusively
// is a holder; one that shares it is a probe, which ends at once.
func lockExclusive(f File, wait time.Duration) error {
	start := time.Now()
	deadline := time.NewTimer(max(wait, probersWait))
	defer deadline.Stop()
	err := waitFor(deadline.C, func() (bool, error) {
		if done, err := tryFlock(f, syscall.LOCK_EX); done || err != nil {
			return done, err
		}
		shared, err := tryFlock(f, syscall.LOCK_SH)
		if err != nil {
			return false, err
		}
		if shared {
			return false, f.Flock(syscall.LOCK_UN)
		}
		if time.Since(start) >= wait {
			return false, ErrLocked
		}
		return false, nil
	})
	if errors.Is(err, ErrBusy) {
		return ErrLocked
	}
	return err
}

// writeText tells people who holds the lock. The lock counts, not the text, so
// a full disk does not matter here.
func writeText(f File, text string) {
	if f.Truncate(0) == nil {
		_, _ = f.Write([]byte(text))
	}
}

func (d Disk) probe(path string) (bool, error) {
	f, err := d.open(path, ReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("probe lock: %w", err)
	}
	free, err := tryFlock(f, syscall.LOCK_SH)
	if free {
		err = f.Flock(syscall.LOCK_UN)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("probe lock %s: %w", path, err)
	}
	return !free, nil
}

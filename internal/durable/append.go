package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/internal/crash"
)

// ErrBusy says that another writer held the file for longer than Append waits.
// Nothing was written; trying again later is right.
var ErrBusy = errors.New("busy, try again")

// ErrStays says that appended lines were not brought to disk and were not cut off either: others wrote
// behind them. A reader takes them, unless a power loss takes them first.
var ErrStays = errors.New("what was appended stays in the file, but may not be on disk")

// appendWait is how long Append waits for other writers.
const appendWait = 10 * time.Second

// Tail is the file as Append found it, its lock held and its last line ended.
// It may be used only during the call it was given to.
type Tail struct {
	// Size is the offset at which the new lines will start.
	Size int64

	file io.ReaderAt
}

// Since returns the bytes from offset to the end of the file. An offset outside
// the file gives all of it, as a reader whose cursor does not fit starts again.
func (t Tail) Since(offset int64) ([]byte, error) {
	if offset < 0 || offset > t.Size {
		offset = 0
	}
	data, err := io.ReadAll(io.NewSectionReader(t.file, offset, t.Size-offset))
	if err != nil {
		return nil, fmt.Errorf("read tail: %w", err)
	}
	return data, nil
}

// Append adds the lines that check returns to the end of path, which is made if
// missing. It waits up to 10 seconds for other writers (ErrBusy), ends a line
// that a killed writer left torn, and calls check while no other Append can
// write; an error of check is returned as it is and nothing is appended. The
// lines must be whole, each ended by "\n"; without lines it succeeds.
//
// Others write on while the lines are brought to disk, so those who write at once
// wait together. When Append returns nil the lines are on disk, and so is what check
// found there; without lines, too. When writing or syncing fails, what was appended is
// cut off again, unless others wrote behind it (ErrStays), and the error returned, so a caller
// must not treat the lines as accepted.
func Append(path string, check func(tail Tail) ([]byte, error)) error {
	return Disk{}.Append(path, check)
}

// Append is the function Append, on this disk.
func (d Disk) Append(path string, check func(tail Tail) ([]byte, error)) error {
	return d.append(path, appendWait, check)
}

// Log adds line to path, which is made if missing, by one write and without
// syncing. A missing "\n" is added.
func Log(path string, line []byte) error { return Disk{}.Log(path, line) }

func (d Disk) append(path string, wait time.Duration, check func(Tail) ([]byte, error)) error {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	f, err := d.openLocked(path, deadline.C)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	defer f.Close()
	size, written, err := addLines(f, path, check)
	// The explicit unlock matters: a child between fork and exec holds a copy
	// of the descriptor, and closing this one would not free the lock.
	if unlocked := f.Flock(syscall.LOCK_UN); err == nil {
		err = unlocked
	}
	if err != nil {
		return err
	}
	err = f.Sync()
	crash.Point("sync", path)
	if err == nil && size == 0 {
		err = d.SyncDir(filepath.Dir(path)) // the name may be new too
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, errors.Join(err, cutOff(f, size, written)))
	}
	return nil
}

// addLines adds the lines that check returns to a locked file. It returns where they start, and how
// many bytes they have.
func addLines(f File, path string, check func(Tail) ([]byte, error)) (size, written int64, err error) {
	if size, err = healTail(f); err != nil {
		return 0, 0, fmt.Errorf("append to %s: %w", path, err)
	}
	lines, err := check(Tail{Size: size, file: f})
	if err != nil || len(lines) == 0 {
		return size, 0, err
	}
	if lines[len(lines)-1] != '\n' {
		return size, 0, fmt.Errorf("append to %s: the last line is not ended", path)
	}
	_, err = f.Write(lines)
	crash.Point("append", path)
	if err != nil {
		err = fmt.Errorf("append to %s: %w", path, errors.Join(err, f.Truncate(size)))
	}
	return size, int64(len(lines)), err
}

// cutOff takes lines that are not on disk out of the file again, if they are still the last.
func cutOff(f File, size, written int64) error {
	deadline := time.NewTimer(appendWait)
	defer deadline.Stop()
	err := waitFor(deadline.C, func() (bool, error) { return tryFlock(f, syscall.LOCK_EX) })
	if written == 0 {
		return err
	}
	if err != nil {
		return errors.Join(ErrStays, bare(err))
	}
	defer func() { _ = f.Flock(syscall.LOCK_UN) }()
	info, err := f.Stat()
	if err == nil && info.Size() != size+written {
		return ErrStays
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return errors.Join(ErrStays, err)
	}
	return nil
}

// bare returns why a file could not be locked as an error that is not ErrBusy: that would say that
// nothing was written.
func bare(err error) error {
	if errors.Is(err, ErrBusy) {
		return errors.New("other writers hold the file")
	}
	return err
}

// healTail ends a torn last line and returns the size of the file.
func healTail(f File) (int64, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	size := info.Size()
	end := make([]byte, 1)
	if _, err := f.ReadAt(end, size-1); err != nil {
		return 0, err
	}
	if end[0] == '\n' {
		return size, nil
	}
	if _, err := f.Write([]byte{'\n'}); err != nil {
		return 0, fmt.Errorf("end the torn last line: %w", err)
	}
	return size + 1, nil
}

// openLocked opens path for appending and locks it.
func (d Disk) openLocked(path string, deadline <-chan time.Time) (File, error) {
	for {
		f, err := d.open(path, Appending)
		if err != nil {
			return nil, err
		}
		err = waitFor(deadline, func() (bool, error) { return tryFlock(f, syscall.LOCK_EX) })
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
		// While we waited the file may have been replaced or removed; lines
		// appended to the old one would be lost.
		if named(f, path) {
			return f, nil
		}
		f.Close()
	}
}

// Log is the function Log, on this disk.
func (d Disk) Log(path string, line []byte) error {
	f, err := d.open(path, Appending)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if n := len(line); n == 0 || line[n-1] != '\n' {
		line = append(line[:n:n], '\n')
	}
	_, err = f.Write(line)
	crash.Point("log", path)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("log to %s: %w", path, err)
	}
	return nil
}

// tryFlock reports whether the lock was got; a lock in use is not an error.
func tryFlock(f File, how int) (bool, error) {
	err := f.Flock(how)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// named reports whether path is still a name of f.
func named(f File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := lookup(path)
	return err == nil && os.SameFile(mine, there) && there.Mode()&fs.ModeSymlink == 0
}

// waitFor calls try in short random intervals until it is done or fails, or
// until the deadline has come (ErrBusy).
func waitFor(deadline <-chan time.Time, try func() (bool, error)) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 16*time.Millisecond) {
		if done, err := try(); done || err != nil {
			return err
		}
		retry := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-deadline:
			retry.Stop()
			return ErrBusy
		case <-retry.C:
		}
	}
}

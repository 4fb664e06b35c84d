// Package durable writes and reads the files of a session so that a crash or a
// power loss at any moment leaves either the old or the new content, never a
// half of it.
//
// It owns the rules for single files, not their meaning:
//
//	Replace  the whole new content or the whole old one; on disk when it returns
//	View     as Replace, but not synced: only for files no decision is made from
//	Append   whole lines under a file lock; on disk when it returns
//	Log      one unsynced append; a lost tail is harmless
//	Create   made once, never replaced; on disk when it returns
//	Sync     makes a file somebody else wrote survive a power loss
//	Lock     one process at a time, for as long as it lives
//
// ReadRegular reads what an untrusted program left behind, and Look tells when
// such a file has stopped changing.
//
// Directories are made with mode 0700 and files with 0600. All functions are
// safe for concurrent use, also by several processes. Temporary files stand
// beside their target as .<name>.tmp-<random>; a killed process may leave one,
// and it is never read.
package durable

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agentmux/agentmux/internal/crash"
)

// store carries the rules out on one disk.
type store struct{ disk disk }

// machine is the disk of this machine; it holds no state.
var machine = store{disk: system{}}

// Replace makes data the content of path, which need not exist. After an error
// path has its old content or, if only the last sync failed, the new one.
func Replace(path string, data []byte) error { return machine.replace(path, data) }

// View replaces the content of path without syncing. After a power loss the
// file may be empty or gone, so nothing may be decided from it.
func View(path string, data []byte) error { return machine.view(path, data) }

// Create makes path with data. If path is taken it changes nothing and returns
// an error that is fs.ErrExist; what stands there is on disk then too.
func Create(path string, data []byte) error { return machine.create(path, data) }

// Backup makes backup a second name of the present content of path, replacing
// what backup named before. A later Replace of path leaves backup alone. It is
// not synced.
func Backup(path, backup string) error { return machine.backup(path, backup) }

// Publish renames the directory from to the name to, which must be free, in the
// same file system. If to is taken the error is fs.ErrExist; only an empty
// directory at to may be replaced. The content of from is not synced here.
func Publish(from, to string) error { return machine.publish(from, to) }

// Mkdir makes one directory whose parent exists. If path is taken the error is
// fs.ErrExist.
func Mkdir(path string) error { return machine.mkdir(path) }

// MkdirAll makes path and its missing parents. A directory that exists is kept
// as it is.
func MkdirAll(path string) error { return machine.mkdirAll(path) }

// Sync brings a regular file that somebody else wrote, and its name, to disk.
func Sync(path string) error { return machine.sync(path) }

// SyncDir brings the names in the directory path to disk.
func SyncDir(path string) error { return machine.syncDir(path) }

// Truncate cuts path back to size bytes. It never makes a file longer: a size
// beyond the end is an error.
func Truncate(path string, size int64) error { return machine.truncate(path, size) }

func (s store) replace(path string, data []byte) error {
	temp, err := s.writeTemp(path, data, true)
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := s.renameTemp(temp, path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return s.syncDir(filepath.Dir(path))
}

func (s store) view(path string, data []byte) error {
	temp, err := s.writeTemp(path, data, false)
	if err != nil {
		return fmt.Errorf("write view %s: %w", path, err)
	}
	if err := s.renameTemp(temp, path); err != nil {
		return fmt.Errorf("write view %s: %w", path, err)
	}
	return nil
}

func (s store) create(path string, data []byte) error {
	temp, err := s.writeTemp(path, data, true)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	taken := s.disk.link(temp, path)
	crash.Point("link", path)
	if taken != nil && !errors.Is(taken, fs.ErrExist) {
		return fmt.Errorf("create %s: %w", path, errors.Join(taken, s.disk.remove(temp)))
	}
	if err := s.disk.remove(temp); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	// A name that was taken may come from a call that was killed before this
	// line. Whoever learns that it exists will count on it.
	if err := s.syncDir(filepath.Dir(path)); err != nil {
		return err
	}
	if taken != nil {
		return fmt.Errorf("create %s: %w", path, taken)
	}
	return nil
}

func (s store) backup(path, backup string) error {
	temp := tempName(backup)
	if err := s.disk.link(path, temp); err != nil {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	crash.Point("link", backup)
	if err := s.renameTemp(temp, backup); err != nil {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	// Renaming between two names of one file does nothing and keeps both.
	if err := s.disk.remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	return nil
}

func (s store) publish(from, to string) error {
	// A directory cannot be renamed over a file or a directory with content, so
	// no separate test for to is needed, and none could race.
	err := s.disk.rename(from, to)
	if errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("%s is no directory: %w", to, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("publish %s: %w", to, err)
	}
	crash.Point("publish", to)
	return s.syncDir(filepath.Dir(to))
}

func (s store) mkdir(path string) error {
	if err := s.disk.mkdir(path); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	crash.Point("mkdir", path)
	return s.syncDir(filepath.Dir(path))
}

func (s store) mkdirAll(path string) error {
	err := s.mkdir(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.mkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		err = s.mkdir(path)
	}
	if errors.Is(err, fs.ErrExist) {
		return s.syncDir(path) // fails unless path is a directory
	}
	return err
}

func (s store) sync(path string) error {
	f, err := s.open(path, readOnly)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := errors.Join(f.sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return s.syncDir(filepath.Dir(path))
}

func (s store) syncDir(path string) error {
	f, err := s.disk.open(path, directory)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	err = f.sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // this file system keeps names without being asked
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", path, err)
	}
	crash.Point("sync directory", path)
	return nil
}

func (s store) truncate(path string, size int64) error {
	f, err := s.open(path, readWrite)
	if err != nil {
		return fmt.Errorf("truncate: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("truncate %s: %w", path, err)
	}
	if size < 0 || size > info.Size() {
		return fmt.Errorf("truncate %s: %d is outside its %d bytes", path, size, info.Size())
	}
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("truncate %s: %w", path, err)
	}
	crash.Point("truncate", path)
	if err := f.sync(); err != nil {
		return fmt.Errorf("truncate %s: %w", path, err)
	}
	return nil
}

// writeTemp writes data to a new file beside path and returns its name. After
// an error no file is left.
func (s store) writeTemp(path string, data []byte, synced bool) (string, error) {
	temp := tempName(path)
	f, err := s.disk.open(temp, newFile)
	if err != nil {
		return "", err
	}
	crash.Point("open new", path)
	_, err = f.Write(data)
	crash.Point("write", path)
	if err == nil && synced {
		err = f.sync()
		crash.Point("sync", path)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, s.disk.remove(temp))
	}
	return temp, nil
}

func (s store) renameTemp(temp, path string) error {
	if err := s.disk.rename(temp, path); err != nil {
		return errors.Join(err, s.disk.remove(temp))
	}
	crash.Point("rename", path)
	return nil
}

// open opens a regular file. A FIFO or a device is refused without waiting for
// its other end.
func (s store) open(path string, how opening) (file, error) {
	f, err := s.disk.open(path, how)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func tempName(path string) string {
	dir, name := filepath.Split(path)
	return dir + "." + name + ".tmp-" + strings.ToLower(rand.Text()[:13])
}

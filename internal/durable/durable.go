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
//	Draft    as Create, with the name given later
//	Sync     makes a file that another program wrote survive a power loss
//	Lock     one process at a time, for as long as it lives
//
// ReadRegular reads what an untrusted program left behind, and Look tells when
// such a file has stopped changing.
//
// Directories are made with mode 0700 and files with 0600. All functions are
// safe for concurrent use, also by several processes. Temporary files lie
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

// Disk carries the rules of this package out. The zero Disk is the one of this
// machine, which the functions of the package use.
type Disk struct{ calls Calls }

// On returns the Disk whose calls are made by calls. Tests use it to forget what
// was not synced; see package powertest.
func On(calls Calls) Disk { return Disk{calls} }

func (d Disk) on() Calls {
	if d.calls == nil {
		return System{}
	}
	return d.calls
}

// Replace makes data the content of path, which need not exist. After an error
// path has its old content or, if only the last sync failed, the new one.
func Replace(path string, data []byte) error { return Disk{}.Replace(path, data) }

// View replaces the content of path without syncing. After a power loss the
// file may be empty or gone, so nothing may be decided from it.
func View(path string, data []byte) error { return Disk{}.View(path, data) }

// Create makes path with data. If path is taken it changes nothing and returns
// an error that is fs.ErrExist; what is there is on disk then too.
func Create(path string, data []byte) error { return Disk{}.Create(path, data) }

// Backup makes backup a second name of the present content of path, replacing
// what backup named before. A later Replace of path leaves backup alone. It is
// not synced.
func Backup(path, backup string) error { return Disk{}.Backup(path, backup) }

// Publish renames the directory from to the name to, which must be free, in the
// same file system. If to is taken the error is fs.ErrExist; only an empty
// directory at to may be replaced. The content of from is not synced here.
func Publish(from, to string) error { return Disk{}.Publish(from, to) }

// Mkdir makes one directory whose parent exists. If path is taken the error is
// fs.ErrExist.
func Mkdir(path string) error { return Disk{}.Mkdir(path) }

// MkdirAll makes path and its missing parents. A directory that exists is kept
// as it is.
func MkdirAll(path string) error { return Disk{}.MkdirAll(path) }

// Sync brings a regular file that another program wrote, and its name, to disk.
func Sync(path string) error { return Disk{}.Sync(path) }

// SyncDir brings the names in the directory path to disk.
func SyncDir(path string) error { return Disk{}.SyncDir(path) }

// Truncate cuts path back to size bytes. It never makes a file longer: a size
// beyond the end is an error.
func Truncate(path string, size int64) error { return Disk{}.Truncate(path, size) }

// Rename gives a file another name in its directory, replacing what has it. On
// disk when it returns.
func (d Disk) Rename(from, to string) error {
	if err := d.on().Rename(from, to); err != nil {
		return fmt.Errorf("rename %s: %w", from, err)
	}
	crash.Point("rename", to)
	return d.SyncDir(filepath.Dir(to))
}

// Remove removes a file. It stays away after a power loss when Remove has
// returned.
func (d Disk) Remove(path string) error {
	if err := d.on().Remove(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	crash.Point("remove", path)
	return d.SyncDir(filepath.Dir(path))
}

// nameless returns the error of the temporary file without its name, which says nothing beside that of the file.
func nameless(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Replace is the function Replace, on this disk.
func (d Disk) Replace(path string, data []byte) error {
	temp, err := d.writeTemp(path, data, true)
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, nameless(err))
	}
	if err := d.renameTemp(temp, path); err != nil {
		return fmt.Errorf("replace %s: %w", path, nameless(err))
	}
	return d.SyncDir(filepath.Dir(path))
}

// View is the function View, on this disk.
func (d Disk) View(path string, data []byte) error {
	temp, err := d.writeTemp(path, data, false)
	if err != nil {
		return fmt.Errorf("write view %s: %w", path, err)
	}
	if err := d.renameTemp(temp, path); err != nil {
		return fmt.Errorf("write view %s: %w", path, err)
	}
	return nil
}

// Create is the function Create, on this disk.
func (d Disk) Create(path string, data []byte) error {
	draft, err := d.Draft(path, data)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	taken := draft.Name(path)
	if err := draft.Close(); err != nil || taken != nil && !errors.Is(taken, fs.ErrExist) {
		return fmt.Errorf("create %s: %w", path, errors.Join(taken, err))
	}
	// A name that was taken may come from a call that was killed before this
	// line. The caller that learns that it exists counts on it.
	if err := d.SyncDir(filepath.Dir(path)); err != nil {
		return err
	}
	if taken != nil {
		return fmt.Errorf("create %s: %w", path, taken)
	}
	return nil
}

// Draft is a file whose content is on disk and that has no name of its own yet.
type Draft struct {
	disk Disk
	temp string
}

// Draft brings data to disk beside path, so that giving it a name later takes no time. It is to be
// closed.
func (d Disk) Draft(path string, data []byte) (*Draft, error) {
	temp, err := d.writeTemp(path, data, true)
	return &Draft{d, temp}, err
}

// Name gives the file a name in its directory. If path is taken it changes nothing and the error is
// fs.ErrExist. The name is on disk after SyncDir.
func (f *Draft) Name(path string) error {
	err := f.disk.on().Link(f.temp, path)
	crash.Point("link", path)
	return err
}

// Close removes the temporary name.
func (f *Draft) Close() error { return f.disk.on().Remove(f.temp) }

// Backup is the function Backup, on this disk.
func (d Disk) Backup(path, backup string) error {
	temp := tempName(backup)
	if err := d.on().Link(path, temp); err != nil {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	crash.Point("link", backup)
	if err := d.renameTemp(temp, backup); err != nil {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	// Renaming between two names of one file does nothing and keeps both.
	if err := d.on().Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	return nil
}

// Publish is the function Publish, on this disk.
func (d Disk) Publish(from, to string) error {
	// A directory cannot be renamed over a file or a directory with content, so
	// no separate test for to is needed, and none could race.
	err := d.on().Rename(from, to)
	if errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("%s is not a directory: %w", to, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("publish %s: %w", to, err)
	}
	crash.Point("publish", to)
	return d.SyncDir(filepath.Dir(to))
}

// Mkdir is the function Mkdir, on this disk.
func (d Disk) Mkdir(path string) error {
	if err := d.on().Mkdir(path); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	crash.Point("mkdir", path)
	return d.SyncDir(filepath.Dir(path))
}

// MkdirAll is the function MkdirAll, on this disk.
func (d Disk) MkdirAll(path string) error {
	err := d.Mkdir(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.MkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		err = d.Mkdir(path)
	}
	if errors.Is(err, fs.ErrExist) {
		return d.SyncDir(path) // fails unless path is a directory
	}
	return err
}

// Sync is the function Sync, on this disk.
func (d Disk) Sync(path string) error {
	f, err := d.open(path, ReadOnly)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return d.SyncDir(filepath.Dir(path))
}

// SyncDir is the function SyncDir, on this disk.
func (d Disk) SyncDir(path string) error {
	f, err := d.on().Open(path, Directory)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // this file system keeps names without being asked
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", path, err)
	}
	crash.Point("sync directory", path)
	return nil
}

// Truncate is the function Truncate, on this disk.
func (d Disk) Truncate(path string, size int64) error {
	f, err := d.open(path, ReadWrite)
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
	if err := f.Sync(); err != nil {
		return fmt.Errorf("truncate %s: %w", path, err)
	}
	return nil
}

// writeTemp writes data to a new file beside path and returns its name. After
// an error no file is left.
func (d Disk) writeTemp(path string, data []byte, synced bool) (string, error) {
	temp := tempName(path)
	f, err := d.on().Open(temp, NewFile)
	if err != nil {
		return "", err
	}
	crash.Point("open new", path)
	_, err = f.Write(data)
	crash.Point("write", path)
	if err == nil && synced {
		err = f.Sync()
		crash.Point("sync", path)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, d.on().Remove(temp))
	}
	return temp, nil
}

func (d Disk) renameTemp(temp, path string) error {
	if err := d.on().Rename(temp, path); err != nil {
		return errors.Join(err, d.on().Remove(temp))
	}
	crash.Point("rename", path)
	return nil
}

// open opens a regular file. A FIFO or a device is refused without waiting for
// its other end.
func (d Disk) open(path string, how Opening) (File, error) {
	f, err := d.on().Open(path, how)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// tempPrefix begins the names of the temporary files of name.
func tempPrefix(name string) string { return "." + name + ".tmp-" }

func tempName(path string) string {
	dir, name := filepath.Split(path)
	return dir + tempPrefix(name) + strings.ToLower(rand.Text()[:13])
}

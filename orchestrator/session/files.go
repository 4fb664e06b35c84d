package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// EnsureDirs makes directories of the session, with their parents.
func (s *Session) EnsureDirs(rels ...string) error {
	for _, rel := range rels {
		if err := s.local(rel); err != nil {
			return err
		}
		if err := s.disk.MkdirAll(s.Path(rel)); err != nil {
			return err
		}
	}
	return nil
}

// Replace makes data the content of a file of the host, with its directory.
func (s *Session) Replace(rel string, data []byte) error {
	if err := s.local(rel); err != nil {
		return err
	}
	if err := s.EnsureDirs(path.Dir(rel)); err != nil {
		return err
	}
	return s.disk.Replace(s.Path(rel), data)
}

// View is Replace without waiting for the disk, for files no decision is made
// from.
func (s *Session) View(rel string, data []byte) error {
	if err := s.local(rel); err != nil {
		return err
	}
	return s.disk.View(s.Path(rel), data)
}

// WriteBlob makes the content kept under a hash the content of a file.
func (s *Session) WriteBlob(rel, sha256 string) error {
	data, err := s.Blob(sha256)
	if err != nil {
		return err
	}
	return s.Replace(rel, data)
}

// Mark makes an empty file, unless there is a file.
func (s *Session) Mark(rel string) error {
	if err := s.local(rel); err != nil {
		return err
	}
	if err := s.EnsureDirs(path.Dir(rel)); err != nil {
		return err
	}
	if err := s.disk.Create(s.Path(rel), nil); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// MoveAside renames the files, where they exist, to <stem>.stale-<visit>.<ext>, or with
// -2, -3 … behind it where that is taken. A second call finds nothing to do.
func (s *Session) MoveAside(visit int, rels ...string) error {
	for _, rel := range rels {
		if err := s.local(rel); err != nil {
			return err
		}
		from := s.Path(rel)
		if err := s.removed(from, s.disk.Rename(from, staleName(from, visit))); err != nil {
			return fmt.Errorf("move %s aside: %w", rel, err)
		}
	}
	return nil
}

// MoveOlder is MoveAside for those of the files that were written before a time. The clock of
// files may lag behind: one written in the last moment before stays.
func (s *Session) MoveOlder(visit int, before time.Time, rels ...string) error {
	for _, rel := range rels {
		info, err := os.Lstat(s.Path(rel))
		if err == nil && !info.ModTime().Before(before.Add(-fileClock)) {
			continue
		}
		if err := s.MoveAside(visit, rel); err != nil {
			return err
		}
	}
	return nil
}

// fileClock is how far the clock of files may lag behind the one of programs.
const fileClock = 10 * time.Millisecond

// maxStale bounds the names that are tried; behind it the last one is replaced.
const maxStale = 1000

func staleName(from string, visit int) string {
	ext := path.Ext(from)
	stem := fmt.Sprintf("%s.stale-%d", strings.TrimSuffix(from, ext), visit)
	to := stem + ext
	for n := 2; n < maxStale; n++ {
		if _, err := os.Lstat(to); err != nil {
			break
		}
		to = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	return to
}

// Orphan renames the files of messages that were never delivered, where they exist, to
// <stem>-orphan.md. A second call finds nothing to do.
func (s *Session) Orphan(rels ...string) error {
	for _, rel := range rels {
		if err := s.local(rel); err != nil {
			return err
		}
		from := s.Path(rel)
		if err := s.removed(from, s.disk.Rename(from, strings.TrimSuffix(from, ".md")+"-orphan.md")); err != nil {
			return fmt.Errorf("rename message %s: %w", rel, err)
		}
	}
	return nil
}

// Remove removes files of the host and consumed ones; missing ones are fine.
func (s *Session) Remove(rels ...string) error {
	for _, rel := range rels {
		if err := s.local(rel); err != nil {
			return err
		}
		if err := s.removed(s.Path(rel), s.disk.Remove(s.Path(rel))); err != nil {
			return fmt.Errorf("remove %s: %w", rel, err)
		}
	}
	return nil
}

// removed takes a missing file for one that an earlier call moved or removed. That call may
// have been killed before the disk knew, and the caller will count on it.
func (s *Session) removed(file string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = s.disk.SyncDir(filepath.Dir(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Session) local(rel string) error {
	if !filepath.IsLocal(rel) {
		return fmt.Errorf("%q is not below the session directory", rel)
	}
	return nil
}
